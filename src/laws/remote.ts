import { remote } from '../advisors/remote.ts'
import type { Consult } from '../advisors/remote-consult.ts'
import { RemoteFailure } from '../advisors/remote-failure.ts'
import { textOf } from '../core/text.ts'
import type { Subject } from './subject.ts'

/**
 * A remote advisor without its wire: at every third question or so it does one of all that it may do. What it says
 * depends on how often it was asked, which is the same in call and stream.
 */
export const remoteAdvisor: Subject = {
  name: 'remote',
  places: ['turn', 'call'],
  create: () => {
    let asked = 0
    const consult: Consult = async (question, turn) => {
      const nth = asked++
      await undefined
      turn.signal.throwIfAborted()
      if (nth % 11 === 4) throw new RemoteFailure('timeout')
      if (nth % 13 === 9) return { kind: 'error', code: 'enough', message: 'Enough.' }
      if (nth % 13 === 11) return { kind: 'answer', message: reply('Enough.', `remote_${nth}`), finish: 'stop' }
      if (nth % 3 !== 0) return { kind: 'go_on' }
      if (question.phase === 'response') {
        const { message } = question
        return { kind: 'message', message: { ...message, content: textOf(message.content).replaceAll('7', '#') } }
      }
      const { messages } = question
      return { kind: 'messages', messages: [{ role: 'system', id: `hint_${nth}`, content: 'Be brief.' }, ...messages] }
    }
    return remote({ name: 'remote', consult, on: ['request', 'response'], fail: 'open', isMetered: true })
  }
}

function reply(content: string, id: string) {
  return { role: 'assistant' as const, id, content, calls: [] }
}
