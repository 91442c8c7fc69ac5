/** Everything that a page is built of. */
export { Button, Copy, LinkButton } from "./buttons.js";
export { Confirm, Dialog } from "./dialog.js";
export { AreaField, CheckField, Form, SelectField, TextField, wrongOf } from "./forms.js";
export { Icon, type IconName } from "./icons.js";
export { KeyId, KeyName } from "./key-id.js";
export { Bones, Card, Empty, Errors, Facts, Failure, Figure, Loaded, Message, Missing, PageFrame } from "./layout.js";
export { notify } from "./notices.js";
export { PagedTable, Table, Tabs, type Column, type Tab } from "./table.js";
export {
  Address,
  Ago,
  Badge,
  BothTimes,
  Code,
  count,
  minute,
  ExactTime,
  exactTime,
  Id,
  Json,
  Name,
  Num,
  pretty,
  Sent,
  shorten,
  showNumber,
  Term,
  Time,
  visible,
  type Tone,
} from "./text.js";
