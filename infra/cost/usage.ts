import * as z from 'zod';

/** What something used of the services that are billed by use. Milliseconds are of the machine that measured. */
export const Usage = z.object({
  storeRequests: z.number(),
  readUnits: z.number(),
  writeUnits: z.number(),
  /** Sent to queues. */
  messages: z.number(),
  /** Started in the state machine. */
  executions: z.number(),
  invocations: z.record(
    z.string(),
    z.object({ count: z.number(), milliseconds: z.number(), memory: z.number() }),
  ),
});
export type Usage = z.output<typeof Usage>;

/** Measured by `npm run measure`; a test holds the requests and units to what the code does. */
export const Counts = z.object({
  measuredOn: z.string(),
  /** All that can be read once each, by an API key; `operations` of them. */
  reads: z.object({ operations: z.number(), responseBytes: z.number(), usage: Usage }),
  /** One finding's status, set by a person. */
  triage: Usage,
  /** An import of so many findings that are new, its every part included. */
  importNew: z.object({ findings: z.number(), usage: Usage }),
  /** The same report again. */
  importSame: z.object({ findings: z.number(), usage: Usage }),
  /** The same without some: these are resolved. */
  importFewer: z.object({ findings: z.number(), gone: z.number(), usage: Usage }),
  /** A scan by four scanners of a repository whose findings are as they were. */
  scan: z.object({ scanners: z.number(), usage: Usage }),
  /** What runs once a minute, and finds nothing to do. */
  idleMinute: Usage,
  /** Bytes that a finding takes in the table and its indexes. */
  findingBytes: z.number(),
});
export type Counts = z.output<typeof Counts>;

export function sum(...all: readonly Usage[]): Usage {
  const invocations: Usage['invocations'] = {};
  for (const [name, { count, milliseconds, memory }] of all.flatMap((one) =>
    Object.entries(one.invocations),
  )) {
    const known = invocations[name] ?? { count: 0, milliseconds: 0, memory };
    invocations[name] = {
      count: known.count + count,
      milliseconds: known.milliseconds + milliseconds,
      memory,
    };
  }
  const total = (read: (one: Usage) => number) => all.reduce((so, one) => so + read(one), 0);
  return {
    storeRequests: total((one) => one.storeRequests),
    readUnits: total((one) => one.readUnits),
    writeUnits: total((one) => one.writeUnits),
    messages: total((one) => one.messages),
    executions: total((one) => one.executions),
    invocations,
  };
}

export function times(factor: number, usage: Usage): Usage {
  return {
    storeRequests: usage.storeRequests * factor,
    readUnits: usage.readUnits * factor,
    writeUnits: usage.writeUnits * factor,
    messages: usage.messages * factor,
    executions: usage.executions * factor,
    invocations: Object.fromEntries(
      Object.entries(usage.invocations).map(([name, { count, milliseconds, memory }]) => [
        name,
        { count: count * factor, milliseconds: milliseconds * factor, memory },
      ]),
    ),
  };
}
