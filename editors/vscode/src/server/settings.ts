// What of the section agent-ls is for the server: everything but the settings
// of this extension itself.

/** The settings of package.json, by the first part of their names. */
export const ownSettings: readonly string[] = ['server', 'trace', 'model', 'mode'];

/** The section as the server gets it: tables as in its own configuration (policy, limits, …). */
export function serverSettings(section: unknown): unknown {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    return section;
  }
  return Object.fromEntries(Object.entries(section).filter(([name]) => !ownSettings.includes(name)));
}
