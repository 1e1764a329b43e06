import type { Finish } from '../../core/chat.ts'

/** Words that providers end an answer with, in lower case (spec/wire.md §2.3.9). */
const WORDS: Readonly<Record<string, Label>> = {
  stop: 'stop',
  tool_calls: 'stop',
  tool_use: 'stop',
  function_call: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  complete: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
  safety: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
  sensitive: 'content_filter',
  error: 'error',
  network_error: 'error'
}

type Label = Extract<Finish, 'stop' | 'length' | 'content_filter'> | 'error'

/** What a provider's finish reason means; `undefined` for a word that nobody knows yet, which counts as `stop`. */
export function finishOf(word: string): Label | undefined {
  return WORDS[word.toLowerCase()]
}
