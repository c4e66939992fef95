import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Item, Table } from '#store/table.ts';
import { testTable } from './organization.ts';

/** Every item of the service's table: what tests look through that the product never does. */
export function storedItems(): Promise<Item[]> {
  return allItems(testTable());
}

export async function allItems(table: Table): Promise<Item[]> {
  const items: Item[] = [];
  let next: Item | undefined;
  do {
    const page = await table.document.send(
      new ScanCommand({ TableName: table.name, ExclusiveStartKey: next }),
    );
    items.push(...(page.Items ?? []));
    next = page.LastEvaluatedKey;
  } while (next);
  return items;
}
