/** What `loopgate help` teaches. */
const GENERAL = `Loopgate: an LLM gateway that runs the tools. Clients send ordinary OpenAI requests; the gateway finds, calls
and limits the tools and returns one answer.

  loopgate serve    start the gateway
  loopgate check    check a configuration file and show what comes of it
  loopgate cases    play recorded cases against a really started gateway
  loopgate backup   copy the database, also while the gateway runs
  loopgate restore  put a backup in the place of the database
  loopgate help <command>
  loopgate --version

First steps, without any key or file:

  loopgate serve
  curl -N http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"stream":true,"messages":[{"role":"user","content":"What is the weather in Oslo?"}]}'

Then a configuration of your own: config/gateway.yaml explains every option; write those that differ into
./gateway.yaml, run "loopgate check", run "loopgate serve".
`

const SERVE = `loopgate serve [--config F] [--host H] [--port N] [--port-file F]

Starts the gateway. The first line on stdout is the JSON log line "server.listening" with its "url".

  --config F      configuration file; else LOOPGATE_CONFIG, else ./gateway.yaml, else demo mode: the built-in
                  model simulator and demo tools on 127.0.0.1:8080, no key needed
  --host H        address to listen on, in place of server.host
  --port N        port, in place of server.port; 0 = any free one
  --port-file F   write the port there once the gateway listens

SIGTERM or SIGINT: not ready any more, no new turns, running ones finish within server.drain_ms, then exit 0.
A second signal ends it at once.

Exit: 0 stopped, 1 configuration (every error is told with its line), 2 wrong usage, 4 cannot listen or open the store
`

const CHECK = `loopgate check [--config F]

Checks a configuration file. Prints the effective configuration as YAML, defaults filled in and secrets masked, or
every error as "file:line path: what is wrong and what is allowed".

  --config F      as for serve; without a file the demo configuration is shown

Exit: 0 sound, 1 errors, 2 wrong usage
`

const CASES = `loopgate cases <kind> <folder> [--only 003,010] [--expect F] [--mode recorded|call|stream] [--json]

Plays every case file of the folder against a gateway started for it, with fake upstreams and tools on loopback.

  <kind>          wire, loop or tool-search
  --only N,N      only cases whose names begin with these
  --expect F      expectations; default: <folder>-expectations.json beside the folder, if it is there
  --mode M        loop cases: as recorded (default), or every one as call or as stream
  --json          results as JSON

Exit: 0 all passed, 1 otherwise, 2 wrong usage
`

const BACKUP = `loopgate backup --to F [--config F]

Copies the database (store.path) to a new file, as it is at this moment, also while the gateway runs: that goes on
writing. The copy is checked before it gets its name. What was deleted is not in it. The key file (secrets.key_file)
is not in it either: keep a copy of that elsewhere, for without it the secrets of tools cannot be read.

  --to F          the new file; one that is there is never overwritten
  --config F      as for serve

Exit: 0 done, 1 configuration, 2 wrong usage, 4 a file cannot be read or written, or is damaged
`

const RESTORE = `loopgate restore --from F [--config F]

Puts a copy of a backup in the place of the database (store.path). The gateway has to be stopped. The backup is checked
first; what was there is kept beside it, as <store.path>.before-<time>.

  --from F        the backup
  --config F      as for serve

Exit: 0 done, 1 configuration, 2 wrong usage, 4 a gateway runs on the database, or the backup cannot be used
`

const TEXTS: Readonly<Record<string, string>> = {
  serve: SERVE,
  check: CHECK,
  cases: CASES,
  backup: BACKUP,
  restore: RESTORE
}

/** The commands there are. */
export const COMMANDS: readonly string[] = [...Object.keys(TEXTS), 'help']

/** The text for a command, or the general one. */
export function help(command?: string): string {
  return (command !== undefined && Object.hasOwn(TEXTS, command) && TEXTS[command]) || GENERAL
}
