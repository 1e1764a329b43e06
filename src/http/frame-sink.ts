/** Takes the frames of a stream: a connection, or what keeps them for one. */
export interface FrameSink {
  /** `undefined`: go on. A promise: wait for it before the next frames. */
  write(frames: string): undefined | Promise<void>
  /** A keepalive. */
  comment(): void
  /** The last frames. */
  end(frames: string): void
}
