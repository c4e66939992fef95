import type { Scanner } from '#domain/vocabulary.ts';
import { titleOf } from './normalise.ts';

/** The tool that wrote a report in a scanner's place, by its driver's name; null for the scanner itself. */
export function toolOf(driver: string, scanner: Scanner): string | null {
  return driver.toLowerCase().includes(scanner) ? null : titleOf(driver) || null;
}
