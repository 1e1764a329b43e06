import type { Searchable, ToolFinder, ToolView } from '../core/finder.ts'

/** Finds tools by whole words of their names; keeps nothing. */
export const finder: ToolFinder = {
  kind: 'lexical',
  index: tools => viewOf(tools.values()),
  build: viewOf,
  view: (_, tools) => viewOf([...tools.values()].filter(({ run }) => run !== undefined)),
  evict: () => false,
  release() {}
}

function viewOf(tools: Iterable<Searchable>): ToolView {
  const names = Array.from(tools, ({ name }) => name)
  return {
    kind: 'lexical',
    groups: [],
    search(query, { maxResults }) {
      const words = query.split(' ')
      const found = names.filter(name => name.split('_').some(word => words.includes(word)))
      return {
        form: 'keywords',
        results: found.slice(0, maxResults).map(name => ({ name, score: 1, matched: ['name'] }))
      }
    }
  }
}
