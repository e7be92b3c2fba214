// Rows over fetch: see README.md.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const [url, first, stop] = process.argv.slice(2);

/** 0: the row is stored; else how long to wait. */
async function waitAfter(body) {
    try {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(30_000) });
        const text = await answer.text();
        if (answer.status === 200) return 0;
        if (answer.status === 429 || answer.status === 503) return 1000 * (answer.headers.get("retry-after") ?? 1);
        console.error(body, answer.status, text);
        process.exit(1);
    } catch {
        // It may be stored: the same row again.
        return 100;
    }
}

async function send(client) {
    let rows = 0;
    for (; !existsSync(stop); rows++) {
        const body = JSON.stringify({ client, seq: rows, text: `${client}-${rows}` });
        for (let wait; (wait = await waitAfter(body)) > 0; ) await pause(wait);
    }
    console.log(client, rows);
}

await Promise.all([0, 1, 2, 3].map((n) => send(Number(first) + n)));
