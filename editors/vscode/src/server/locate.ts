// Which agent-ls program to start: the setting, else the one in this
// extension, else the one on PATH. A setting that names nothing is an error
// and never falls through to another program.

import * as path from 'node:path';

/** What locating needs to know about the machine. */
export interface Machine {
  platform: NodeJS.Platform;
  home: string;
  /** The value of PATH. */
  searchPath: string;
  /** Whether a file is there and may be executed. */
  runnable: (file: string) => boolean;
}

export type Located = { command: string; from: 'setting' | 'bundled' | 'PATH' } | { problem: string };

/** Finds the program. `extension` is the folder of this extension, `setting` the value of agent-ls.server.path. */
export function locateServer(setting: string, extension: string, machine: Machine): Located {
  const windows = machine.platform === 'win32';
  const name = windows ? 'agent-ls.exe' : 'agent-ls';
  const paths = windows ? path.win32 : path.posix;

  const wanted = setting.trim();
  if (wanted !== '') {
    const file = /^~[/\\]/.test(wanted) ? paths.join(machine.home, wanted.slice(2)) : wanted;
    if (!paths.isAbsolute(file)) {
      return { problem: `agent-ls.server.path is "${wanted}"; it has to be an absolute path, or start with ~/.` };
    }
    if (!machine.runnable(file)) {
      return { problem: `agent-ls.server.path is "${wanted}", and there is no program that can be run.` };
    }
    return { command: file, from: 'setting' };
  }

  const bundled = paths.join(extension, 'bin', name);
  if (machine.runnable(bundled)) {
    return { command: bundled, from: 'bundled' };
  }
  for (const folder of machine.searchPath.split(windows ? ';' : ':')) {
    // A relative entry would look into whatever folder is current.
    if (folder !== '' && paths.isAbsolute(folder)) {
      const file = paths.join(folder, name);
      if (machine.runnable(file)) {
        return { command: file, from: 'PATH' };
      }
    }
  }
  return {
    problem:
      'The agent-ls program was not found: this package has none for your platform, and there is none on PATH. ' +
      'Install it, or name it in the setting agent-ls.server.path.',
  };
}
