import type { Scanner } from '#domain/vocabulary.ts';
import { titleOf } from './normalise.ts';

/** The tool that wrote a report in a scanner's place, by its driver's name; null for the scanner itself. */
export function toolOf(driver: string, scanner: Scanner): string | null {
  return driver.toLowerCase().includes(scanner) ? null : titleOf(driver) || null;
}

/** Names a tool whatever its version and spelling: `PMD 7.1.0` and `pmd` are one. */
export function toolKey(tool: string): string {
  const plain = tool
    .toLowerCase()
    .replace(/ v?\d[\w.+-]*$/, '')
    .trim();
  return plain === '' ? tool.toLowerCase() : plain;
}
