import type { Scanner } from '#domain/vocabulary.ts';

/** `pip install NAME==VERSION` into a virtual environment of its own. */
interface PipInstall {
  readonly by: 'pip';
  readonly package: string;
}

/** `go install PACKAGE@vVERSION`; or, where the module proxy lists no versions, the module's own tree built in place. */
interface GoInstall {
  readonly by: 'go install' | 'go build';
  readonly module: string;
  /** The main package, relative to the module. */
  readonly command: string;
  /** Go leaves the version unset unless the linker writes it into this variable. */
  readonly versionVariable: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface ScannerRelease {
  readonly version: string;
  readonly install: PipInstall | GoInstall;
  /** CPU seconds that the install took where it was tried: for progress, not for limits. */
  readonly installSeconds: number;
}

/**
 * The scanners that this project is made for and tested with: the one place that names versions
 * (the container image takes them from here by build arguments, and a test compares the two).
 * An upgrade is a decision: later Trivy releases had a supply-chain incident, and newer Semgrep
 * releases ask for dependencies that not every package index has.
 */
export const SCANNER_RELEASES: Readonly<Record<Scanner, ScannerRelease>> = {
  semgrep: {
    version: '1.182.0',
    install: { by: 'pip', package: 'semgrep' },
    installSeconds: 32,
  },
  grype: {
    version: '0.110.0',
    install: {
      by: 'go install',
      module: 'github.com/anchore/grype',
      command: 'cmd/grype',
      versionVariable: 'main.version',
      env: {},
    },
    installSeconds: 450,
  },
  trivy: {
    version: '0.69.3',
    install: {
      by: 'go build',
      module: 'github.com/aquasecurity/trivy',
      command: 'cmd/trivy',
      versionVariable: 'github.com/aquasecurity/trivy/pkg/version/app.ver',
      env: { CGO_ENABLED: '0', GOEXPERIMENT: 'jsonv2' },
    },
    installSeconds: 860,
  },
  gitleaks: {
    version: '8.30.1',
    install: {
      by: 'go install',
      module: 'github.com/zricethezav/gitleaks/v8',
      command: '.',
      versionVariable: 'github.com/zricethezav/gitleaks/v8/version.Version',
      env: {},
    },
    installSeconds: 87,
  },
};

/** What `--quick` installs: about a minute together, where the other two take a quarter of an hour. */
export const QUICK_SCANNERS: readonly Scanner[] = ['semgrep', 'gitleaks'];

/** Releases that must not run whatever the rule of `isFitting` says: published by an attacker. */
const REFUSED: Partial<Record<Scanner, readonly string[]>> = {
  trivy: ['0.69.4', '0.69.5', '0.69.6'],
};

/**
 * Whether another version than the pinned one may do its work: the same major version, and at least
 * the pinned minor one, because report formats and database schemas grow by minor versions, and so do
 * the options by which a repository is kept from hiding something.
 */
export function isFitting(scanner: Scanner, version: string): boolean {
  const [major, minor] = parts(version);
  const [pinnedMajor, pinnedMinor] = parts(SCANNER_RELEASES[scanner].version);
  if (major !== pinnedMajor || REFUSED[scanner]?.includes(version) === true) return false;
  return minor >= pinnedMinor;
}

function parts(version: string): readonly [number, number] {
  const [major = '', minor = ''] = version.split('.');
  return [Number(major), Number(minor)];
}
