// Draw what the server returns, also if it is back only later.
import { fill, h } from "./dom.js";

const AGAIN_MS = 3000;

/**
 * Draw into `place` what `request` returns. If the server does not answer, say so and try again until it does.
 *
 * A place that is no longer on the page, because the person went on, is left alone.
 */
export async function drawWhenAnswered(place, request, draw, sentence = (error) => error.message) {
  let timer = null;
  const attempt = async () => {
    clearTimeout(timer);
    try {
      const found = await request();
      if (place.isConnected) draw(found);
    } catch (error) {
      if (error.status === undefined) throw error;
      if (!place.isConnected) return;
      const again = error.mayPass && h("button", { type: "button", class: "button", onclick: attempt }, "Try again");
      fill(place, h("p", { class: "empty", role: "status" }, sentence(error), error.mayPass && " The page tries again."), again);
      if (error.mayPass) timer = setTimeout(() => place.isConnected && attempt(), Math.max(AGAIN_MS, error.wait * 1000));
    }
  };
  await attempt();
}
