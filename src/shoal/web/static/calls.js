// What the page asks of the API. A refusal is an Error whose message says what to try.

export async function call(method, path, body, type = "application/json") {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": type },
    body: body === undefined || type !== "application/json" ? body : JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({ error: `The server answered ${answer.status}.` }));
  if (!answer.ok) {
    const refusal = new Error(told.error || `The server answered ${answer.status}.`);
    refusal.line = told.line;
    throw refusal;
  }
  return told;
}

export const project = () => document.querySelector("main").dataset.project;
export const here = (rest) => `/api/projects/${encodeURIComponent(project())}${rest}`;
