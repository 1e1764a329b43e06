import t, { type Test } from 'tap'
import { run } from '../../src/cli/run.ts'

async function loopgate(...args: string[]) {
  const out: string[] = []
  const err: string[] = []
  const started: object[] = []
  const code = await run(args, {
    version: '1.2.3',
    out: text => void out.push(text),
    err: text => void err.push(text),
    start: async options => started.push(options) - 1,
    backup: async (...files) => `backup ${started.push(files)}`,
    restore: async (...files) => `restore ${started.push(files)}`
  })
  return { code, out: out.join(''), err: err.join(''), started }
}

t.test('help teaches', async t => {
  t.match(await loopgate('help'), { code: 0, out: /loopgate serve[\s\S]*curl -N/, err: '' })
  t.match(await loopgate('--help'), { code: 0, out: /First steps/ })
  t.match(await loopgate('help', 'serve'), { code: 0, out: /--port-file/ })
  t.match(await loopgate('check', '--help'), { code: 0, out: /^loopgate check/ })
})

t.test('--version tells the version of the package', async t => {
  t.strictSame(await loopgate('--version'), { code: 0, out: '1.2.3\n', err: '', started: [] })
  t.match(await loopgate('help'), { out: /loopgate --version/ })
})

t.test('wrong usage: exit 2, and a way on', async t => {
  const cases: [string[], RegExp][] = [
    [[], /Which command\? There are serve, check, cases, backup, restore, help/],
    [['sevre'], /There is no command sevre. Did you mean serve\?\nSee: loopgate help\n/],
    [['help', 'xyz'], /There is no command xyz. There are/],
    [
      ['serve', '--prot', '1'],
      /Unknown option '--prot'. Known options of serve: --config, --host, --port, --port-file./
    ],
    [['serve', '--port', '70000'], /--port must be 0 to 65535/],
    [['serve', '--port', '1e3'], /--port must be 0 to 65535/],
    [['serve', '--port'], /argument missing/],
    [['serve', 'gateway.yaml'], /serve takes no word such as gateway.yaml/],
    [['check', 'gateway.yaml'], /name the file with --config/],
    [['backup'], /backup needs a file: loopgate backup --to/],
    [['backup', '--to', ''], /backup needs a file/],
    [['backup', '--to', 'a.db', 'b.db'], /backup needs a file/],
    [['backup', '--from', 'a.db'], /Unknown option '--from'. Known options of backup: --config, --to./],
    [['restore', '--to', 'a.db'], /Unknown option '--to'. Known options of restore: --config, --from./],
    [['cases', 'wire'], /cases needs a kind and a folder/],
    [['cases', 'wires', 'x'], /The kind must be one of wire, loop, tool-search, not wires/],
    [['cases', 'loop', 'x', '--mode', 'both'], /--mode must be one of recorded, call, stream, not both/]
  ]
  for (const [args, message] of cases)
    t.match(await loopgate(...args), { code: 2, out: '', err: message }, args.join(' '))
})

t.test('serve: what it is told reaches the gateway', async t => {
  t.match(await loopgate('serve'), { code: 0, started: [{}] })
  const { started } = await loopgate('serve', '--config', 'a.yaml', '--host', '::1', '--port', '0', '--port-file', 'p')
  t.strictSame(started, [{ config: 'a.yaml', host: '::1', port: 0, portFile: 'p' }])
})

t.test('check: the effective configuration, or everything that is wrong', async t => {
  const sound = await loopgate('check', '--config', 'config/gateway.yaml')
  t.match(sound, { code: 0, out: /^# effective configuration \(config\/gateway.yaml\)/, err: '' })
  t.match(sound.out, 'keepalive_ms: 15000')
  const broken = file(t, 'server: { prt: 1 }\nlog: { level: loud }')
  t.strictSame(await loopgate('check', '--config', broken), {
    started: [],
    code: 1,
    out: '',
    err:
      `${broken}:1 server.prt: is not an option (did you mean port?); known here: host, port, public_url, ` +
      'body_limit_bytes, trust_proxy, drain_ms\n' +
      `${broken}:2 log.level: must be one of trace, debug, info, warn, error, fatal, silent\n`
  })
  t.match(await loopgate('check', '--config', `${broken}.none`), { code: 1, err: /there is no such file/ })
})

function file(t: Test, text: string): string {
  return `${t.testdir({ 'gateway.yaml': text })}/gateway.yaml`
}
