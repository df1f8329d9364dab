// Keeps a RunLog whole: events live, and those that were missed while the
// connection was down or the window closed.

import type { AgentEvent } from '../protocol';
import type { RunLog } from './log';

/** Asks for the events of a session after a number. */
export type FetchEvents = (sessionId: string, afterSeq: number) => Promise<{ events: AgentEvent[]; lastSeq: number }>;

/** Feeds events into a log, in order and without gaps. Says what was applied, and when a gap was closed. */
export class EventFeed {
  /** Events that wait until those before them were fetched. */
  private readonly held = new Map<string, AgentEvent[]>();

  constructor(
    private readonly log: RunLog,
    private readonly fetch: FetchEvents,
    private readonly changed: (event: AgentEvent) => void,
    private readonly filled: (sessionId: string) => void,
  ) {}

  /** Takes an event as it comes from the server. */
  take(event: AgentEvent): void {
    const waiting = this.held.get(event.sessionId);
    if (waiting !== undefined) {
      waiting.push(event);
      return;
    }
    if (this.enter(event) === 'gap') {
      this.held.set(event.sessionId, [event]);
      void this.fill(event.sessionId);
    }
  }

  /** Fetches what is missing of a session. */
  async catchUp(sessionId: string): Promise<void> {
    if (!this.held.has(sessionId)) {
      this.held.set(sessionId, []);
      await this.fill(sessionId);
    }
  }

  private enter(event: AgentEvent, force = false): string {
    const applied = this.log.apply(event, force);
    if (applied === 'applied') {
      this.changed(event);
    }
    return applied;
  }

  private async fill(sessionId: string): Promise<void> {
    try {
      for (;;) {
        const after = this.log.seqOf(sessionId);
        const { events, lastSeq } = await this.fetch(sessionId, after);
        for (const event of events) {
          this.enter(event, true);
        }
        if (events.length === 0 || this.log.seqOf(sessionId) >= lastSeq) {
          break;
        }
      }
    } catch {
      // A server that cannot tell what was missed: show what came since.
    }
    const waiting = this.held.get(sessionId) ?? [];
    this.held.delete(sessionId);
    for (const event of waiting) {
      this.enter(event, true);
    }
    this.filled(sessionId);
  }
}
