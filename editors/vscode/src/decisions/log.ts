// The hook decisions that this window knows, by run. Knows nothing of the
// editor.

import type { Decision } from '../protocol';

/** How many are kept; the server has all of them. */
const limit = 2000;

/** Decisions in the order in which they were made. */
export class DecisionLog {
  private decisions: Decision[] = [];
  private readonly known = new Set<string>();
  private readonly listeners = new Set<(decision?: Decision) => void>();

  onChange(listener: (decision?: Decision) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  get all(): readonly Decision[] {
    return this.decisions;
  }

  /** Adds a decision unless it is known. */
  add(decision: Decision): void {
    if (this.enter(decision)) {
      this.changed(decision);
    }
  }

  /** Adds decisions that were recorded before, in any order. */
  addAll(decisions: readonly Decision[]): void {
    if (decisions.filter(decision => this.enter(decision)).length > 0) {
      this.changed();
    }
  }

  /** The decisions by run, the run with the newest decision first; within a run oldest first. */
  byRun(only: (decision: Decision) => boolean): { runId: string; decisions: Decision[] }[] {
    const runs = new Map<string, Decision[]>();
    for (const decision of this.decisions) {
      if (only(decision)) {
        const run = runs.get(decision.runId) ?? [];
        runs.delete(decision.runId);
        runs.set(decision.runId, [...run, decision]);
      }
    }
    return [...runs].reverse().map(([runId, decisions]) => ({ runId, decisions }));
  }

  private enter(decision: Decision): boolean {
    if (this.known.has(decision.id)) {
      return false;
    }
    this.known.add(decision.id);
    let place = this.decisions.length;
    while (place > 0 && (this.decisions[place - 1]?.at ?? '') > decision.at) {
      place--;
    }
    this.decisions.splice(place, 0, decision);
    for (const old of this.decisions.splice(0, Math.max(0, this.decisions.length - limit))) {
      this.known.delete(old.id);
    }
    return true;
  }

  private changed(decision?: Decision): void {
    for (const listener of this.listeners) {
      listener(decision);
    }
  }
}
