import type { AssistantMessage, Fields, Finish, Message, Usage } from './chat.ts'

/**
 * The forms of OpenAI chat completions, for parts that speak them to the outside and are no dialect: they get these as
 * an option. What comes in is not trusted: each `decode…` throws `invalid_request`, with the field in `param`, for
 * whatever is not of the form.
 */
export interface ChatShapes {
  /** A message as it could be sent in a request. */
  encodeMessage(message: Message): Fields
  encodeUsage(usage: Usage): object
  /** A list of messages, not empty, under ids from `newId`; no call has two results. */
  decodeMessages(wire: unknown, newId: () => string): readonly Message[]
  /** A message of the assistant, whose role may be left out. */
  decodeReply(wire: unknown, id: string): AssistantMessage
  /** How a turn ends: a message without calls, or a whole `chat.completion`, of which the first choice counts. */
  decodeAnswer(wire: unknown, id: string): DecodedAnswer
}

export interface DecodedAnswer {
  readonly message: AssistantMessage
  /** `stop` unless a completion says otherwise. */
  readonly finish: Finish
  /** As the completion spells it, unread. */
  readonly usage?: unknown
}
