// The connection to the agent-ls program: starting, restarting, asking. Start
// at Server.start. Everything else in this extension talks through it.

import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { LanguageClient, State, type ServerOptions } from 'vscode-languageclient/node';
import type { Requests, ServerAgent, ServerNotifications, ServerRequests } from '../protocol';
import { AgentFeature } from './capabilities';
import { locateServer, type Located } from './locate';
import { middleware } from './middleware';
import { followed } from './scope';

/** The running server, or the reason why there is none. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  /** What is said to each new client about what the server may send. */
  private readonly handlers: ((client: LanguageClient) => void)[] = [];
  private readonly started = new vscode.EventEmitter<void>();
  private readonly stopped = new vscode.EventEmitter<void>();
  /** Starts and stops one after the other, however they are asked for. */
  private turn: Promise<void> = Promise.resolve();

  /** Fires whenever a server is ready, the first time and after each restart. */
  readonly onDidStart = this.started.event;
  /** Fires when a server is gone, for whatever reason. */
  readonly onDidStop = this.stopped.event;

  constructor(
    private readonly extension: string,
    private readonly output: vscode.LogOutputChannel,
  ) {}

  /** Whether requests can be sent now. */
  get ready(): boolean {
    return this.client?.state === State.Running;
  }

  /** Answers a request of the server's. To be called before start. */
  onRequest<M extends keyof ServerRequests>(
    method: M,
    handler: (params: ServerRequests[M][0], token: vscode.CancellationToken) => Promise<ServerRequests[M][1]>,
  ): void {
    this.handlers.push(client => client.onRequest(method, handler));
  }

  /** Takes a notification of the server's. To be called before start. */
  onNotification<M extends keyof ServerNotifications>(method: M, handler: (params: ServerNotifications[M]) => void): void {
    this.handlers.push(client => client.onNotification(method, handler));
  }

  /** Whether the server says that it answers a method. */
  supports(method: keyof Requests): boolean {
    const experimental = this.client?.initializeResult?.capabilities.experimental as { agent?: ServerAgent } | undefined;
    const methods = experimental?.agent?.methods;
    // A server that lists nothing is asked, and says so itself if it does not know.
    return this.ready && (methods === undefined || methods.includes(method));
  }

  /** Sends a request; rejects with the server's error, or when there is no server. */
  async request<M extends keyof Requests>(method: M, params: Requests[M][0]): Promise<Requests[M][1]> {
    if (this.client === undefined || !this.ready) {
      throw new Error('the agent-ls server is not running');
    }
    return await this.client.sendRequest<Requests[M][1]>(method, params);
  }

  /** Starts the server if there is none. A problem is shown to the user, not thrown. */
  async start(): Promise<void> {
    await this.inTurn(async () => {
      if (this.client === undefined) {
        await this.startClient();
      }
    });
  }

  /** Ends the server and starts it again, with the settings as they are now. */
  async restart(): Promise<void> {
    await this.inTurn(async () => {
      await this.stopClient();
      await this.startClient();
    });
  }

  /** Ends the server. */
  async stop(): Promise<void> {
    await this.inTurn(() => this.stopClient());
  }

  dispose(): void {
    this.started.dispose();
    this.stopped.dispose();
  }

  private async inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => undefined);
    await mine;
  }

  private async startClient(): Promise<void> {
    const located = this.locate();
    if ('problem' in located) {
      this.explain(located.problem);
      return;
    }
    this.output.info(`starting ${located.command} (${located.from})`);
    const client = this.newClient(located.command);
    this.client = client;
    client.onDidChangeState(change => {
      if (change.newState === State.Running) {
        this.started.fire();
      } else if (change.oldState === State.Running) {
        this.stopped.fire();
      }
    });
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      this.explain(`The agent-ls server ${located.command} did not start: ${messageOf(error)}`);
    }
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client === undefined) {
      return;
    }
    try {
      await client.dispose(2000);
    } catch (error) {
      this.output.warn(`stopping the server: ${messageOf(error)}`);
    }
  }

  private newClient(command: string): LanguageClient {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const options: ServerOptions = {
      command,
      args: ['serve', '--stdio'],
      options: folder?.scheme === 'file' ? { cwd: folder.fsPath } : {},
    };
    const client = new LanguageClient('agent-ls', 'agent-ls', options, {
      documentSelector: followed,
      outputChannel: this.output,
      middleware,
      markdown: { isTrusted: false, supportHtml: false },
    });
    client.registerFeature(new AgentFeature());
    for (const handle of this.handlers) {
      handle(client);
    }
    return client;
  }

  private locate(): Located {
    const setting = vscode.workspace.getConfiguration('agent-ls').get<string>('server.path', '');
    return locateServer(setting, this.extension, {
      platform: process.platform,
      home: homedir(),
      searchPath: process.env.PATH ?? '',
      runnable,
    });
  }

  private explain(problem: string): void {
    this.output.error(problem);
    this.stopped.fire();
    const settings = 'Open Settings';
    const output = 'Show Output';
    void vscode.window.showErrorMessage(problem, settings, output).then(choice => {
      if (choice === settings) {
        void vscode.commands.executeCommand('workbench.action.openSettings', 'agent-ls.server.path');
      } else if (choice === output) {
        this.output.show();
      }
    });
  }
}

function runnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
