type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** What every line of this run carries. */
let common: Fields = {};

/** The ids that lines carry from here on; the request's is known once the run was claimed. */
export function logFor(ids: Fields): void {
  common = { ...common, ...ids };
}

/** A line of JSON, for the log of the task: names, ids and numbers, never what a repository holds. */
export function runInfo(message: string, fields: Fields = {}): void {
  console.log(JSON.stringify({ level: 'INFO', message, ...common, ...fields }));
}

export function runError(message: string, fields: Fields = {}): void {
  console.error(JSON.stringify({ level: 'ERROR', message, ...common, ...fields }));
}
