import type { FrameSink } from './frame-sink.ts'
import type { StreamLog } from './stream-log.ts'
import type { StreamLogs } from './stream-logs.ts'

/**
 * A stream whose frames are kept beside being sent. As long as its client reads, it waits for it as any stream does;
 * once the client has gone the frames are only kept.
 */
export function keptStream(logs: StreamLogs, log: StreamLog, connection: FrameSink | undefined): FrameSink {
  return {
    write(frames) {
      const numbered = log.append(frames)
      return connection?.write(numbered)
    },
    comment: () => connection?.comment(),
    end(frames) {
      const numbered = log.append(frames)
      logs.ended(log)
      connection?.end(numbered)
    }
  }
}
