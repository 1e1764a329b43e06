/**
 * What makes and changes the tables, by name, run in the order of the names. Forward only: a migration that was
 * released is never edited; a change is a new one.
 *
 * Times are `…_ms`. Other tables name a session by its number, not by its random key: the entries of a turn then stand
 * on few pages (55 µs of CPU a turn instead of 110 to 160). Bodies of messages are in the order they were written, for
 * the same reason. Every index costs as much as a row, so there is none on a column that changes.
 */
export const migrations: Readonly<Record<string, readonly string[]>> = {
  '0001-first': [
    `CREATE TABLE sessions (
      n INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      id TEXT NOT NULL,
      tenant TEXT NOT NULL,
      key_id TEXT NOT NULL,
      created_ms INTEGER NOT NULL,
      used_ms INTEGER NOT NULL,
      turns INTEGER NOT NULL,
      next_seq INTEGER NOT NULL,
      search_mode TEXT CHECK (search_mode IN ('on', 'off')),
      last_found TEXT
    ) STRICT`,
    'CREATE INDEX sessions_owner ON sessions (tenant, key_id, created_ms)',

    // A turn takes a number of its own before those of its messages: `position` < their `seq`.
    `CREATE TABLE session_turns (
      session INTEGER NOT NULL,
      position INTEGER NOT NULL,
      id TEXT NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('running', 'awaiting_client', 'awaiting_approval', 'completed', 'limited',
        'failed', 'cancelled', 'superseded')),
      answer_id TEXT,
      created_ms INTEGER NOT NULL,
      PRIMARY KEY (session, position)
    ) STRICT, WITHOUT ROWID`,
    // Turn ids rise with time: this index grows at its end only, which is cheap.
    'CREATE UNIQUE INDEX session_turns_id ON session_turns (id, session)',

    // is_end: a question or an answer, or any message of a turn that is still open. Before the body, to skip that.
    `CREATE TABLE messages (
      session INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      turn INTEGER NOT NULL,
      is_end INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (session, seq)
    ) STRICT`,

    `CREATE TABLE revealed_tools (
      session INTEGER NOT NULL,
      branch TEXT NOT NULL,
      name TEXT NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (session, branch, name)
    ) STRICT, WITHOUT ROWID`,

    `CREATE TABLE runs (
      n INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      tenant TEXT NOT NULL,
      key_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      created_ms INTEGER NOT NULL,
      view TEXT NOT NULL
    ) STRICT`,

    `CREATE TABLE tools (
      n INTEGER PRIMARY KEY,
      tenant TEXT NOT NULL,
      name_key TEXT NOT NULL,
      name TEXT NOT NULL,
      version INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('active', 'pending_verification', 'retired', 'disabled')),
      UNIQUE (tenant, name_key)
    ) STRICT`,
    `CREATE TABLE tool_versions (
      tool INTEGER NOT NULL,
      version INTEGER NOT NULL,
      definition TEXT NOT NULL,
      secrets TEXT NOT NULL,
      created_ms INTEGER NOT NULL,
      PRIMARY KEY (tool, version)
    ) STRICT, WITHOUT ROWID`
  ],

  '0002-branches': [
    // A branch is a session with a root: found by that, and not by its owner.
    'ALTER TABLE sessions ADD COLUMN root INTEGER',
    `ALTER TABLE sessions ADD COLUMN branch TEXT NOT NULL DEFAULT 'main'`,
    'CREATE INDEX sessions_root ON sessions (root) WHERE root IS NOT NULL',

    // until, turn_id: place and id of the last turn that it covers.
    `CREATE TABLE summaries (
      session INTEGER PRIMARY KEY,
      until INTEGER NOT NULL,
      turn_id TEXT NOT NULL,
      text TEXT NOT NULL,
      created_ms INTEGER NOT NULL
    ) STRICT`
  ],

  '0003-held-calls': [
    // Turns that wait for their client, and what goes on with them needs. `is_forgotten`: kept for that only.
    `CREATE TABLE held_turns (
      session INTEGER NOT NULL,
      turn TEXT NOT NULL,
      is_forgotten INTEGER NOT NULL,
      request TEXT NOT NULL,
      PRIMARY KEY (session, turn)
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX session_turns_waiting ON session_turns (session, position) WHERE status = 'awaiting_client'`,

    // spec/state.md §1; the result stands here until its turn goes on.
    `CREATE TABLE tool_calls (
      session INTEGER NOT NULL,
      id TEXT NOT NULL,
      turn TEXT NOT NULL,
      round INTEGER NOT NULL,
      idx INTEGER NOT NULL,
      provider_call TEXT NOT NULL,
      tool TEXT NOT NULL,
      tool_version INTEGER NOT NULL,
      runner TEXT NOT NULL CHECK (runner IN ('gateway', 'client', 'nobody')),
      effect TEXT NOT NULL CHECK (effect IN ('read', 'idempotent', 'write')),
      args TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('requested', 'held', 'approved', 'denied', 'expired', 'cancelled', 'dispatched',
        'succeeded', 'failed', 'unknown')),
      attempt INTEGER NOT NULL DEFAULT 0,
      result TEXT,
      requested_ms INTEGER NOT NULL,
      dispatched_ms INTEGER,
      ended_ms INTEGER,
      PRIMARY KEY (session, id)
    ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX tool_calls_provider_call ON tool_calls (provider_call)'
  ],

  '0004-run-words': [
    // Run views that go with the texts of their session; few have values of augmentation fields.
    `CREATE INDEX runs_words ON runs (session_id) WHERE instr(view, '"augmented":{') > 0`
  ],

  '0006-journal': [
    // Turns that run tools, from the first call that leaves on (spec/state.md §2). Named by the turn: one without a
    // session is kept alike. Ids rise with time, so all of these grow at their end.
    `CREATE TABLE journal_turns (
      id TEXT PRIMARY KEY,
      session_key TEXT NOT NULL,
      session_id TEXT NOT NULL,
      branch TEXT NOT NULL,
      fence INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('running', 'left', 'done', 'failed')),
      base TEXT,
      question TEXT,
      outcome TEXT,
      retries TEXT NOT NULL,
      delivered INTEGER NOT NULL DEFAULT 0,
      started_ms INTEGER NOT NULL,
      ended_ms INTEGER
    ) STRICT, WITHOUT ROWID`,
    // Those that are over and have no texts any more cost nothing here. `question`: of one that memory is to keep.
    // `retries`: ids of the rows by which its requests are found again. `outcome` here is that of the newest.
    `CREATE INDEX journal_turns_text ON journal_turns (session_key) WHERE outcome IS NOT NULL OR state IN ('running', 'left')`,
    'CREATE TABLE journal_messages (n INTEGER PRIMARY KEY, turn TEXT NOT NULL, body TEXT NOT NULL) STRICT',
    'CREATE INDEX journal_messages_turn ON journal_messages (turn)',
    `CREATE TABLE journal_calls (
      id TEXT PRIMARY KEY,
      turn TEXT NOT NULL,
      round INTEGER NOT NULL,
      idx INTEGER NOT NULL,
      provider_call TEXT NOT NULL,
      tool TEXT NOT NULL,
      tool_version INTEGER NOT NULL,
      effect TEXT NOT NULL CHECK (effect IN ('read', 'idempotent', 'write')),
      args_hash TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('dispatched', 'succeeded', 'failed', 'unknown')),
      attempt INTEGER NOT NULL,
      dispatched_ms INTEGER NOT NULL,
      ended_ms INTEGER
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE retries (
      id TEXT PRIMARY KEY,
      turn TEXT NOT NULL,
      body_hash TEXT NOT NULL,
      outcome TEXT,
      expires_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`
  ]
}
