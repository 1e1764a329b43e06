import type { Answer, AssistantMessage } from '../../src/core/chat.ts'

/** An answer that says how many there are; every field can be replaced. */
export function anAnswer(message: Partial<AssistantMessage> = {}, rest: Partial<Answer> = {}): Answer {
  const whole: AssistantMessage = { role: 'assistant', id: 'a1', content: 'There are 17.', calls: [], ...message }
  return { message: whole, messages: [whole], finish: 'stop', offered: new Map(), ...rest }
}
