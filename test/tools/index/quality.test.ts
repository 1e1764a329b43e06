import t from 'tap'
import { readCorpora } from '../../../src/cases/tool-search/corpus.ts'
import { type Figures, figuresOf, meanOf } from '../../../src/cases/tool-search/figures.ts'
import { readFloors } from '../../../src/cases/tool-search/floors.ts'
import { toolSearchKind } from '../../../src/cases/tool-search/kind.ts'
import { probe } from '../../../src/cases/tool-search/probe.ts'
import { buildIndex } from '../../../src/tools/index/tool-index.ts'

const FOLDER = 'test/cases/tool-search'

t.test('lexical search stays above its floors on every set of tools, and finds tools by their names', async t => {
  const floors = await readFloors(FOLDER)
  const measured: Figures[] = []
  for (const { name, tools, queries } of await readCorpora(FOLDER)) {
    const index = buildIndex('lexical', tools)
    const search = (text: string) => index.search(text, { maxResults: 10 }).results.map(hit => hit.name)
    const byName = probe(tools)
    const figures = {
      ...figuresOf(new Map(queries.map(query => [query, query.texts.map(search)]))),
      probe: byName.figures(byName.texts.map(search))
    }
    t.same(toolSearchKind.judge({ id: name, ...(floors?.[name] && { floors: floors[name] }) }, figures), [], name)
    measured.push(figures)
  }
  const { search, probe: names } = meanOf(measured)
  t.ok((search?.r1 ?? 0) >= 69, `R@1 ${search?.r1}`)
  t.ok((search?.r5 ?? 0) >= 88.5, `R@5 ${search?.r5}`)
  t.ok((names?.exact1 ?? 0) >= 99.9, `own name first ${names?.exact1}`)
  t.ok((names?.words5 ?? 0) >= 99.5, `name as words in the top 5 ${names?.words5}`)
  t.ok((names?.bundle5 ?? 0) >= 95, `five names in the top 5 ${names?.bundle5}`)
})
