import { setTimeout as sleep } from 'node:timers/promises';
import { dataDirectory, findRunning } from './service.ts';

/** `npm run stop`: ends the embedded service of this data folder. */
const service = await findRunning(dataDirectory());
if (!service) console.log('No embedded service is running.');
else {
  process.kill(service.pid, 'SIGTERM');
  while (await findRunning(dataDirectory())) await sleep(100);
  console.log(`Stopped the service at ${service.url}.`);
}
