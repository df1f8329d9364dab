// The approvals that are open: where they come from, who takes the answer.
// Nothing here answers by itself: an approval that nobody answers stays open.

import type { Approval, ApprovalAnswer, Hunk, Outcome } from '../protocol';

/** Takes an answer to where it counts. */
type Deliver = (answer: ApprovalAnswer) => void | Promise<void>;

/** An open approval, with the hunks that the user took out of it. */
export interface OpenApproval {
  readonly approval: Approval;
  readonly refused: ReadonlySet<number>;
}

interface Entry extends OpenApproval {
  readonly refused: Set<number>;
  deliver: Deliver;
  /** Ends the server's request without an answer. */
  withdraw: () => void;
  answering: boolean;
}

/** Why an answer was not sent. */
export class NotAnswered extends Error {}

/** The open approvals, oldest first. */
export class OpenApprovals {
  private readonly entries = new Map<string, Entry>();
  private readonly listeners = new Set<(arrived?: Approval) => void>();

  /** `resolve` answers an approval for which the server holds no request of ours. */
  constructor(private readonly resolve: (id: string, answer: ApprovalAnswer) => Promise<void>) {}

  /** Calls back after each change; with the approval when it is a new one. */
  onChange(listener: (arrived?: Approval) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  get all(): OpenApproval[] {
    return [...this.entries.values()];
  }

  get(id: string): OpenApproval | undefined {
    return this.entries.get(id);
  }

  /**
   * An approval that the server asks for. The promise is fulfilled with the user's answer and rejected when the
   * approval was taken back; while the user does not answer, it stays as it is.
   */
  ask(approval: Approval): Promise<ApprovalAnswer> {
    return new Promise<ApprovalAnswer>((deliver, reject) => {
      const known = this.entries.get(approval.id);
      this.entries.set(approval.id, {
        approval,
        refused: known?.refused ?? new Set(),
        deliver,
        withdraw: () => { reject(new Error('the approval was withdrawn')); },
        answering: false,
      });
      this.changed(known === undefined ? approval : undefined);
    });
  }

  /** Approvals that the server says are still open, asked for before this connection or in another window. */
  restore(approvals: readonly Approval[]): void {
    for (const approval of approvals) {
      if (this.entries.has(approval.id)) {
        continue;
      }
      this.entries.set(approval.id, {
        approval,
        refused: new Set(),
        deliver: answer => this.resolve(approval.id, answer),
        withdraw: () => undefined,
        answering: false,
      });
      this.changed(approval);
    }
  }

  /** Takes an approval down: it was answered elsewhere, withdrawn, or ran out. */
  settle(id: string): void {
    const entry = this.entries.get(id);
    if (entry !== undefined) {
      this.entries.delete(id);
      entry.withdraw();
      this.changed();
    }
  }

  /**
   * The connection is gone or going. The approvals are not: the server shows them again through agent/pending. Nothing
   * is said to a server that is still there, since whatever it would hear is not the user's answer.
   */
  forget(): void {
    if (this.entries.size > 0) {
      this.entries.clear();
      this.changed();
    }
  }

  /** Takes a hunk out of what would be allowed, or puts it back. */
  accept(id: string, hunk: number, accepted: boolean): void {
    const entry = this.entries.get(id);
    if (entry === undefined) {
      return;
    }
    if (accepted) {
      entry.refused.delete(hunk);
    } else {
      entry.refused.add(hunk);
    }
    this.changed();
  }

  /** Gives the user's answer. Rejects with NotAnswered when it cannot be given; the approval then stays open. */
  async answer(id: string, outcome: Outcome, feedback?: string): Promise<void> {
    const entry = this.entries.get(id);
    if (entry === undefined) {
      throw new NotAnswered('this approval is not open any more');
    }
    if (entry.answering) {
      throw new NotAnswered('this approval is being answered');
    }
    const answer = answerFor(entry, outcome, feedback);
    entry.answering = true;
    try {
      await entry.deliver(answer);
    } catch (error) {
      entry.answering = false;
      throw error;
    }
    this.entries.delete(id);
    this.changed();
  }

  private changed(arrived?: Approval): void {
    for (const listener of this.listeners) {
      listener(arrived);
    }
  }
}

/** All hunks of an approval, over all its files. */
export function hunksOf(approval: Approval): Hunk[] {
  return (approval.edits ?? []).flatMap(edit => edit.hunks ?? []);
}

/** The answer to send, or why there is none. */
function answerFor({ approval, refused }: OpenApproval, outcome: Outcome, feedback?: string): ApprovalAnswer {
  if (!approval.outcomes.includes(outcome)) {
    throw new NotAnswered(`the server does not offer ${outcome} for this call`);
  }
  const said = feedback === undefined || feedback.trim() === '' ? {} : { feedback: feedback.trim() };
  const hunks = hunksOf(approval);
  if (outcome === 'deny' || refused.size === 0) {
    return { outcome, ...said };
  }
  if (outcome !== 'allowOnce') {
    throw new NotAnswered('a part of an edit can only be allowed once: take all hunks in, or allow once');
  }
  const accepted = hunks.map(hunk => hunk.n).filter(n => !refused.has(n));
  if (accepted.length === 0) {
    throw new NotAnswered('no hunk is left to allow: take one in, or deny');
  }
  return { outcome, hunks: accepted, ...said };
}
