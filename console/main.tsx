import { render } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/kit.css";
import "./state/theme.js";
import { App } from "./shell/app.js";

render(<App />, document.querySelector("#app")!);
