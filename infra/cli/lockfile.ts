import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/**
 * `npm run lockfile`: completes package-lock.json. `npm install` leaves out the packages of other
 * platforms where the registry in use does not serve them, and `npm ci` then refuses the file
 * everywhere. Their versions are pinned by the packages that offer them, their platforms are in
 * their names.
 */
const Package = z.looseObject({
  dev: z.boolean().optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});
const Lockfile = z.looseObject({ packages: z.record(z.string(), Package) });

const SYSTEMS = new Set([
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]);
const PROCESSORS = new Set([
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'x64',
]);

/** Optional packages of an exact version that the lockfile has no entry for. */
export function missingEntries(text: string): Map<string, Record<string, unknown>> {
  const { packages } = Lockfile.parse(JSON.parse(text));
  const missing = new Map<string, Record<string, unknown>>();
  for (const [place, { dev, optionalDependencies = {} }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const held = packages[`node_modules/${name}`] ?? packages[`${place}/node_modules/${name}`];
      if (held || !/^\d+\.\d+\.\d+/.test(version)) continue;
      missing.set(`node_modules/${name}`, entryOf(name, version, dev === true));
    }
  }
  return missing;
}

function entryOf(name: string, version: string, dev: boolean): Record<string, unknown> {
  const parts = name.split(/[-/]/);
  const cpu = parts.filter((part) => PROCESSORS.has(part));
  const os = parts.filter((part) => SYSTEMS.has(part));
  const libc = name.includes('musl') ? ['musl'] : name.includes('-gnu') ? ['glibc'] : [];
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(dev && { dev }),
    ...(libc.length > 0 && { libc }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../../package-lock.json', import.meta.url));
  const text = readFileSync(path, 'utf8');
  const missing = missingEntries(text);
  const lockfile = JSON.parse(text) as { packages: Record<string, unknown> };
  const packages = { ...lockfile.packages, ...Object.fromEntries(missing) };
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path, `${JSON.stringify({ ...lockfile, packages: sorted }, null, 2)}\n`);
  console.log(`${missing.size} entries added`);
}
