import { titleOf } from './normalise.ts';
import type { Notification, Run } from './sarif-log.ts';
import { pathOf, uriOf } from './sarif-paths.ts';

/**
 * Why a run does not tell all that its tool could have found (SARIF 2.1.0, appendix I). Its exit code tells
 * nothing: many tools exit with 1 where they found something.
 */
export function brokenOff(one: Run): string | null {
  const name = titleOf(one.tool.driver.name);
  if ((one.invocations ?? []).some((invocation) => invocation && failed(invocation)))
    return `The report says that the execution of ${name} was not successful`;
  if (troublesOf(one).some((told) => isError(told) && namesNoFile(one, told)))
    return `The report tells an error of ${name} that may have kept results from it`;
  // An empty list is a scan that found nothing; no list is no scan.
  return one.results ? null : `The run of ${name} has no list of results`;
}

type Invocation = NonNullable<NonNullable<Run['invocations']>[number]>;

function failed(one: Invocation): boolean {
  const { executionSuccessful: done = true, exitSignalName, processStartFailureMessage } = one;
  return done !== true || !!exitSignalName || !!processStartFailureMessage;
}

/** What a tool tells of its own troubles; one that names files is of these alone, any other of the whole run. */
function troublesOf({ invocations }: Run): Notification[] {
  return (invocations ?? [])
    .flatMap((one) => [
      ...(one?.toolExecutionNotifications ?? []),
      ...(one?.toolConfigurationNotifications ?? []),
    ])
    .filter((told) => told !== null)
    .filter(({ level }) => !HARMLESS.has(level?.toLowerCase() ?? ''));
}

/** Without a level it is a warning, the standard's default; one with a level of its own may be anything. */
const HARMLESS: ReadonlySet<string> = new Set(['note', 'none']);

function isError({ level }: Notification): boolean {
  return level?.toLowerCase() === 'error';
}

/** The files and folders that a run's tool had trouble with. */
export function troubledPaths(one: Run): string[] {
  return troublesOf(one)
    .flatMap((told) => placesOf(one, told))
    .filter((path) => path !== ROOT);
}

/** As `reportedPath` writes it. It tells no more than no place at all. */
const ROOT = '.';

function namesNoFile(one: Run, told: Notification): boolean {
  const places = placesOf(one, told);
  return places.length === 0 || places.includes(ROOT);
}

function placesOf(one: Run, { locations }: Notification): string[] {
  return (locations ?? []).flatMap((told) => {
    const place = told?.physicalLocation?.artifactLocation;
    const uri = uriOf(one, place);
    return typeof uri === 'string' ? [pathOf(one, place)] : [];
  });
}
