// How things stand, in the few words of the status bar.

import { plainLabel } from './visible';

/** What the item is drawn from. */
export interface Standing {
  ready: boolean;
  approvals: number;
  /** What each live run is doing. */
  live: string[];
}

/** Text, tooltip and command of the item. */
export function statusOf({ ready, approvals, live }: Standing): { text: string; tooltip: string; command: string; warn: boolean } {
  if (!ready) {
    return { text: '$(warning) Agent', tooltip: 'The agent-ls server is not running. Click to see why.', command: 'agent-ls.showOutput', warn: false };
  }
  if (approvals > 0) {
    const text = `$(bell-dot) Agent: ${approvals} to approve`;
    return { text, tooltip: 'Calls wait for your answer. Click to review.', command: 'agent-ls.showApprovals', warn: true };
  }
  if (live.length > 0) {
    const text = live.length === 1 ? `$(loading~spin) Agent: ${plainLabel(live[0] ?? '', 40)}` : `$(loading~spin) Agent: ${live.length} runs`;
    return { text, tooltip: live.map(one => plainLabel(one)).join('\n'), command: 'agent-ls.runs.focus', warn: false };
  }
  return { text: '$(hubot) Agent', tooltip: 'No run is going on. Click to start one.', command: 'agent-ls.run', warn: false };
}
