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
  if (troublesOf(one).some((told) => told.level === 'error' && placesOf(one, told).length === 0))
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
    .filter(({ level }) => level === 'error' || level === 'warning');
}

/** The files that a run's tool had trouble with. */
export function troubledPaths(one: Run): string[] {
  return troublesOf(one).flatMap((told) => placesOf(one, told));
}

function placesOf(one: Run, { locations }: Notification): string[] {
  return (locations ?? []).flatMap((told) => {
    const place = told?.physicalLocation?.artifactLocation;
    const uri = uriOf(one, place);
    // A folder is none of the files that findings name.
    return uri && !uri.endsWith('/') ? [pathOf(one, place)] : [];
  });
}
