import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { endsWithUs } from '../../src/cases/ends-with-us.ts'
import { openSqlite } from '../../src/stores/sqlite/open.ts'
import { restore } from '../../src/stores/sqlite/restore.ts'
import { aSession, aStoredTurn, owner } from './contract.ts'

const CLI = join(import.meta.dirname, '../../src/cli.ts')

/** A folder with a configuration, and the program to be run in it. */
function aPlace(t: Test) {
  const folder = t.testdir({ 'gateway.yaml': 'store:\n  path: data/a.db\n' })
  const path = join(folder, 'data/a.db')
  const open = () => openSqlite({ path, synchronous: 'full' })
  // Not one that waits: who writes in this process goes on meanwhile.
  const loopgate = async (...args: string[]) => {
    const child = endsWithUs(spawn(process.execPath, [CLI, ...args], { cwd: folder }))
    const exit = once(child, 'exit')
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await exit
    return { code, out, err }
  }
  const turns = async () => {
    const stores = await open()
    const { data } = await stores.sessions.messages('k', { limit: 1000 })
    await stores.close()
    return new Set(data.map(({ turnId }) => turnId)).size
  }
  return { folder, path, open, loopgate, turns }
}

t.test('a backup is made while the gateway writes, and brings back what was there then', async t => {
  const { folder, open, loopgate, turns } = aPlace(t)
  const stores = await open()
  for (let n = 0; n < 20; n++) await stores.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))

  const made = await loopgate('backup', '--to', 'kept/one.db')
  t.match(made, { code: 0, out: /copied to .*kept\/one\.db\. The key file/, err: '' })
  t.equal(statSync(join(folder, 'kept/one.db')).mode & 0o777, 0o600, 'it is for its owner only')
  t.strictSame(readdirSync(join(folder, 'kept')), ['one.db'])

  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_later'))
  t.match(await loopgate('restore', '--from', 'kept/one.db'), { code: 4, err: /in use by another process/ })
  await stores.close()
  t.equal(await turns(), 21, 'a restore that was refused has changed nothing')

  const { code, out } = await loopgate('restore', '--from', 'kept/one.db')
  t.equal(code, 0)
  t.equal(await turns(), 20)
  const [, aside = ''] = /What was there is (\S+) now/.exec(out) ?? []
  const before = new DatabaseSync(aside)
  t.equal(before.prepare('SELECT count(*) AS n FROM session_turns').get()?.n, 21, 'what was there is kept')
  before.close()
  t.ok(existsSync(join(folder, 'kept/one.db')), 'the backup stays')
})

t.test('a copy taken in the midst of writing is whole: of turns that are there, all messages are', async t => {
  const { folder, open, loopgate } = aPlace(t)
  const stores = await open()
  let isOver = false
  let written = 0
  const lane = async (name: number) => {
    for (let n = 0; !isOver; n++) {
      await stores.sessions.append(aSession(`lane${name}`), owner, aStoredTurn(`turn_${name}_${n}`))
      written++
    }
  }
  const lanes = [0, 1, 2, 3].map(lane)
  await setTimeout(100)
  const atFirst = written
  t.match(await loopgate('backup', '--to', 'b.db'), { code: 0 })
  isOver = true
  await Promise.all(lanes)
  await stores.close()
  const db = new DatabaseSync(join(folder, 'b.db'), { readOnly: true })
  const torn = `SELECT count(*) AS n FROM session_turns WHERE NOT EXISTS (SELECT 1 FROM messages
    WHERE messages.session = session_turns.session AND messages.turn = session_turns.position)`
  t.equal(db.prepare(torn).get()?.n, 0)
  const kept = Number(db.prepare('SELECT count(*) AS n FROM session_turns').get()?.n)
  t.ok(atFirst <= kept && kept < written, `${atFirst} turns before, ${kept} in the copy, ${written} at the end`)
  db.close()
})

t.test('a backup from a file that was copied with its write-ahead log has what stands in that', async t => {
  const { folder, open, loopgate, turns, path } = aPlace(t)
  const stores = await open()
  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  for (const suffix of ['', '-wal']) writeFileSync(join(folder, `raw.db${suffix}`), readFileSync(path + suffix))
  await stores.close()
  t.match(await loopgate('restore', '--from', 'raw.db'), { code: 0 })
  t.equal(await turns(), 1)
})

t.test('where there is no database yet, a restore makes it', async t => {
  const { folder, open, loopgate, turns } = aPlace(t)
  const stores = await open()
  await stores.sessions.append(aSession('k'), owner, aStoredTurn('turn_1'))
  t.match(await loopgate('backup', '--to', 'b.db'), { code: 0 })
  await stores.close()
  writeFileSync(join(folder, 'gateway.yaml'), 'store:\n  path: data/a.db\n')
  const other = 'store:\n  path: elsewhere/new.db\n'
  writeFileSync(join(folder, 'other.yaml'), other)
  t.match(await loopgate('restore', '--from', 'b.db', '--config', 'other.yaml'), {
    code: 0,
    out: /^[^W]*new\.db is as in/
  })
  t.ok(existsSync(join(folder, 'elsewhere/new.db')))
  t.equal(await turns(), 1)
})

t.test('what cannot be used is refused with the reason, and nothing is changed', async t => {
  const { folder, path, open, loopgate, turns } = aPlace(t)
  t.match(await loopgate('backup', '--to', 'b.db'), { code: 4, err: /There is no database .*a\.db/ })
  const stores = await open()
  for (let n = 0; n < 50; n++) await stores.sessions.append(aSession('k'), owner, aStoredTurn(`turn_${n}`))
  t.match(await loopgate('backup', '--to', 'b.db'), { code: 0 })
  t.match(await loopgate('backup', '--to', 'b.db'), { code: 4, err: /b\.db is there already/ })
  await stores.close()

  const bytes = readFileSync(join(folder, 'b.db'))
  writeFileSync(join(folder, 'text.db'), 'not a database, but long enough to be taken for one'.repeat(100))
  writeFileSync(join(folder, 'half.db'), bytes.subarray(0, bytes.length / 2))
  writeFileSync(join(folder, 'empty.db'), '')
  const newer = new DatabaseSync(join(folder, 'newer.db'))
  newer.exec(`CREATE TABLE migrations (name TEXT); INSERT INTO migrations VALUES ('9999-later')`)
  newer.close()
  for (const [file, why] of [
    ['text.db', /not a database/],
    ['half.db', /malformed|damaged/],
    ['empty.db', /not a database of the gateway/],
    ['newer.db', /another version of the gateway \(migration 9999-later\)/],
    ['nowhere.db', /There is no database/],
    [path, /is the database itself/]
  ] as const) {
    t.throws(() => restore(path, resolve(folder, file)), { code: 'store_unavailable', message: why }, String(why))
  }
  t.equal(await turns(), 50)
  t.strictSame(
    readdirSync(join(folder, 'data')).filter(name => !/^a\.db(-wal|-shm|\.lock)?$/.test(name)),
    [],
    'no half copies lie about'
  )
  t.match(await loopgate('backup', '--to', '/proc/b.db'), { code: 4, err: /cannot be copied to \/proc\/b\.db/ })
  writeFileSync(join(folder, 'gateway.yaml'), 'stoer: 1\n')
  t.match(await loopgate('backup', '--to', 'c.db'), { code: 1, err: /gateway\.yaml:1 stoer/ })
})
