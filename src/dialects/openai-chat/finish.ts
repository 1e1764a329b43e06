import type { Finish } from '../../core/chat.ts'

/** `finish_reason` of OpenAI chat completions (contract §4.4). */
export const FINISH_REASON: Readonly<Record<Finish, 'stop' | 'length' | 'content_filter' | 'tool_calls'>> = {
  stop: 'stop',
  return_direct: 'stop',
  length: 'length',
  content_filter: 'content_filter',
  client_calls: 'tool_calls',
  awaiting_approval: 'tool_calls',
  tool_call_limit: 'length',
  identical_calls: 'length',
  round_limit: 'length',
  token_limit: 'length',
  cost_limit: 'length',
  time_limit: 'length'
}
