const { drizzle } = require('drizzle-orm/node-postgres'); const { drizzle: dpj } = require('drizzle-orm/postgres-js'); const { pgTable, bigint, integer, text, numeric, jsonb, timestamp } = require('drizzle-orm/pg-core'); const { eq, sql } = require('drizzle-orm');
const { Pool } = require('pg'); const postgres = require('postgres'); const cp = require('child_process'), fs = require('fs');
const orders = pgTable('orders', { id: bigint('id', { mode: 'number' }).primaryKey(), customerId: integer('customer_id'), amount: numeric('amount'), status: text('status'), meta: jsonb('meta'), createdAt: timestamp('created_at', { withTimezone: true }) });
(async () => {
  const pool = new Pool(); const db = drizzle(pool); const pj = postgres(); const db2 = dpj(pj);
  for (const d of [db, db2]) { await d.select().from(orders).where(eq(orders.id, 5)); await d.transaction(async t => { await t.update(orders).set({ status: 'paid' }).where(eq(orders.id, 5)).returning(); await t.transaction(async t2 => { await t2.execute(sql`select 1`); }); }); await d.insert(orders).values({ id: 70000, customerId: 1, meta: { a: 1 }, createdAt: new Date() }).onConflictDoNothing(); await d.delete(orders).where(eq(orders.id, 70000)); }
  const p = db.select().from(orders).where(eq(orders.id, sql.placeholder('id'))).prepare('dz1'); await p.execute({ id: 3 }); await p.execute({ id: 4 });
  await pool.end(); await pj.end();
  const e = process.env, url = `postgres://${e.PGUSER}:${e.PGPASSWORD}@${e.PGHOST}:${e.PGPORT}/${e.PGDATABASE}`;
  fs.rmSync('/tmp/weir-clients/drizzle', { recursive: true, force: true });
  cp.execFileSync('npx', ['drizzle-kit', 'pull', '--dialect=postgresql', '--url=' + url, '--out=/tmp/weir-clients/drizzle'], { stdio: ['ignore', 'pipe', 'inherit'], env: process.env, timeout: 60000 });
  if (!/orders/.test(fs.readFileSync('/tmp/weir-clients/drizzle/schema.ts', 'utf8'))) throw new Error('drizzle-kit pull missed orders');
  console.log('drizzle ok');
})().catch(e => { console.error(e); process.exit(1); });
