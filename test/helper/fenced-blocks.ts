import { readFileSync } from 'node:fs'

export interface FencedBlock {
  /** `file:line` of its first line. */
  readonly place: string
  /** First word after the fence; empty when there is none. */
  readonly language: string
  /** What else stands after the fence: the name of a file. */
  readonly title: string
  readonly text: string
}

/** The fenced code of a Markdown file, in order. */
export function fencedBlocks(file: string): FencedBlock[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^```(\w*) ?([^\n]*)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language = '', 2: title = '', 3: body = '', index }) => ({
      place: `${file}:${text.slice(0, index).split('\n').length + 1}`,
      language,
      title,
      text: body
    })
  )
}
