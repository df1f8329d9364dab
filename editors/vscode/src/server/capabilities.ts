// Says in `initialize` what this extension can do beyond LSP.

import type { ClientCapabilities, FeatureState, StaticFeature } from 'vscode-languageclient/node';
import { agentCapabilities } from '../protocol';

/** Adds capabilities.experimental.agent. */
export class AgentFeature implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const others = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...others, agent: agentCapabilities };
  }

  initialize(): void {
    // Nothing to set up: the requests are registered on the client.
  }

  getState(): FeatureState {
    return { kind: 'static' };
  }

  clear(): void {
    // Nothing was set up.
  }
}
