// What the page asks of the API. A refusal is an Error whose message says what to try.

export async function call(method, path, body, type = "application/json") {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": type },
    body: body === undefined || type !== "application/json" ? body : JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({ error: answered(answer.status) }));
  if (!answer.ok) {
    const refusal = new Error(told.error || answered(answer.status));
    refusal.line = told.line;
    throw refusal;
  }
  return told;
}

// What the server's refusal means, in the page's language.
export function answered(status) {
  const said = document.body.dataset;
  return status === 401 ? said.link : said.answered.replace("{status}", status);
}

// What all paths of this page begin with: another server on this machine does not know it.
export const prefix = document.body.dataset.prefix;
export const project = () => document.querySelector("main").dataset.project;
export const here = (rest) => `${prefix}/api/projects/${encodeURIComponent(project())}${rest}`;
