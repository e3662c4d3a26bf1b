// Talking to the server.

export class Refused extends Error {}

async function checked(response) {
  if (response.ok) return response;
  let reason = "";
  try { reason = (await response.text()).trim(); } catch { /* the status has to do */ }
  throw new Refused(reason.slice(0, 300) || `the server answered ${response.status}`);
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the server does not answer; is voxaudit review still running?");
  }
}

export function address(path, fields) {
  const kept = Object.entries(fields).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return `${path}?${new URLSearchParams(kept)}`;
}

export async function get(path, fields = {}, signal = undefined) {
  return (await checked(await reach(address(path, fields), { signal }))).json();
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-Voxaudit": "1" };
  return (await checked(await reach(path, { method: "POST", headers, body: JSON.stringify(body) }))).json();
}
