// The page's own words, in English and Chinese.

const TEXTS = {
  tabs: ["What to do", "功能"],
  ask: ["Ask", "提问"],
  check: ["Check", "核查"],
  corpus: ["Corpus", "资料库"],
  other: ["中文", "English"],
  keyAsked: ["This server asks for an API key", "此服务器需要 API 密钥"],
  useKey: ["Use it", "使用"],
  keyKept: ["It is kept in this tab's memory only.", "密钥只保存在此标签页的内存中。"],
  keyWrong: ["The key is missing or wrong.", "密钥缺失或错误。"],
  question: ["Question", "问题"],
  model: ["Model", "模型"],
  preset: ["Preset", "预设"],
  serverPreset: ["the server's", "服务器默认"],
  anew: ["New chat", "新对话"],
  stop: ["Stop", "停止"],
  send: ["Ask", "提问"],
  you: ["You", "你"],
  waiting: ["Waiting for the model …", "正在等待模型……"],
  checkedSoFar: ["{n} statements checked", "已核查 {n} 句"],
  took: ["Done in {seconds} s", "用时 {seconds} 秒"],
  stopped: ["Stopped", "已停止"],
  noText: ["The model sent no text.", "模型没有返回文本。"],
  endedEarly: ["The model ended its reply early: {why}.", "模型提前结束了回复：{why}。"],
  broken: ["The connection broke off.", "连接中断。"],
  unreachable: ["The server can't be reached.", "无法连接服务器。"],
  textToCheck: ["Text to check", "要核查的文本"],
  questionAnswered: ["The question that it answers (optional)", "它回答的问题（可选）"],
  documents: ["Documents (optional)", "文档（可选）"],
  document: ["Document {n}", "文档 {n}"],
  documentTitle: ["Title of document {n}", "文档 {n} 的标题"],
  documentText: ["Text of document {n}", "文档 {n} 的正文"],
  addDocument: ["Add a document", "添加文档"],
  remove: ["Remove", "移除"],
  onlyDocuments: ["Check against these documents only", "只对照这些文档核查"],
  ownCitations: ["Check the text's own citations [n] of these documents", "核查文本自身对这些文档的引用 [n]"],
  needsDocuments: ["Add the documents that the text cites.", "请添加文本引用的文档。"],
  checkIt: ["Check", "核查"],
  checking: ["Checking …", "核查中……"],
  query: ["Search the documents", "检索文档"],
  search: ["Search", "检索"],
  searching: ["Searching …", "检索中……"],
  foundNone: ["Nothing was found.", "没有找到。"],
  foundSome: ["{n} passages", "{n} 个段落"],
  dense: ["by meaning", "语义"],
  lexical: ["by words", "词语"],
  notAmong: ["not among the first", "未进入前列"],
  panel: ["Evidence", "依据"],
  references: ["References", "参考资料"],
  alsoCited: ["References of this answer", "此回答的参考资料"],
  noReferences: ["No reference was cited.", "没有引用任何资料。"],
  close: ["Close", "关闭"],
  openSource: ["Open the source", "打开来源"],
  openPassage: ["Show the passage", "显示段落"],
  score: ["score {score}", "得分 {score}"],
  place: ["{document}, characters {start} to {end}", "{document}，第 {start} 至 {end} 字符"],
  source: ["Source {n}: {title}", "来源 {n}：{title}"],
  why: ["{verdict}: show why", "{verdict}：查看原因"],
  reason: ["Why", "原因"],
  nearest: ["The nearest evidence", "最接近的依据"],
  noEvidence: ["No passage was found.", "没有找到相关段落。"],
  missing: ["Nothing bears out", "没有依据的词语"],
  supporting: ["Documents that would support it", "可支持此句的文档"],
  before: ["Was written first, and corrected", "原文，已更正"],
  leftOut: ["Was written first, and left out", "原文，已略去"],
  leftOutCount: ["↻ {n} left out", "↻ {n} 已略去"],
  supported: ["supported", "有依据"],
  contradicted: ["contradicted", "与资料矛盾"],
  unsupported: ["unsupported", "无依据"],
  not_checkable: ["nothing to check", "无需核查"],
  unverified: ["not verified", "未核查"],
  nothing: ["There is nothing to check.", "没有可核查的内容。"],
  showAround: ["Show what stands around it", "显示上下文"],
  timeline: ["Time line: {seconds} s", "时间线：{seconds} 秒"],
  busy: ["{seconds} s", "{seconds} 秒"],
  waitingPhase: ["Waiting", "排队"],
  upstreamPhase: ["Model", "模型"],
  claimsPhase: ["Claims", "论断"],
  retrievalPhase: ["Retrieval", "检索"],
  checkingPhase: ["Checking", "核查"],
  correctionPhase: ["Correction", "更正"],
  upstreamCount: ["calls: {n}", "调用 {n} 次"],
  claimsCount: ["claims: {n}", "论断 {n} 条"],
  retrievalCount: ["queries: {n}", "查询 {n} 次"],
  checkingCount: ["pairs: {n}", "核对 {n} 对"],
  correctionCount: ["rounds: {n}", "{n} 轮"],
  makeLink: ["Copy a link", "复制链接"],
  link: ["Link to this answer", "此回答的链接"],
  copied: ["Copied.", "已复制。"],
  copyIt: ["Copy it from here.", "请从此处复制。"],
  linkTooLong: ["Too long for a link. Download the report instead.", "内容过长，无法生成链接，请下载报告。"],
  linkBroken: ["This link holds no answer that can be read.", "此链接中没有可读取的回答。"],
  shared: ["An answer from a link", "来自链接的回答"],
  sharedNote: [
    "This answer and its verdicts come from the link, as whoever made it wrote them. This server has not checked them now.",
    "此回答及其核查结果来自链接，由链接的制作者提供。本服务器尚未核查。",
  ],
  checkAgain: ["Check it here", "在此核查"],
  download: ["Download the report", "下载报告"],
  report: ["Report", "报告"],
  made: ["Made by Vouch on {date}", "由 Vouch 生成于 {date}"],
  failures: ["What the sources do not bear out", "资料未能证实的内容"],
};

const LANGUAGES = ["en", "zh"];
const listeners = [];
let current = LANGUAGES.indexOf(remembered() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en"));

function remembered() {
  try {
    const stored = localStorage.getItem("vouch-language");
    return LANGUAGES.includes(stored) ? stored : null;
  } catch {
    return null;
  }
}

/** The text of that name in the page's language, its `{values}` filled in. */
export function t(name, values = {}) {
  return TEXTS[name][current].replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}

/** Reasons of the checkers that a reader meets often, in Chinese; others stay as the server says them. */
const REASONS = [
  [/^the evidence says otherwise$/, "资料的说法与此不同"],
  [/^the evidence does not say it$/, "资料中没有这样说"],
  [/^the evidence has another number than (.+)$/, "资料中的数字不是 $1"],
  [/^there is no evidence$/, "没有相关资料"],
  [/^the claim has no words to check$/, "此句没有可核查的词语"],
  [/^no passage was found$/, "没有找到相关段落"],
  [/^it was not checked$/, "未核查"],
  [/^the deadline passed$/, "核查超时"],
  [/^the checker's model failed$/, "核查模型出错"],
  [/^no citation$/, "没有引用"],
];

/** What a checker gives as its reason, in the page's language. */
export function reasonIn(reason) {
  if (language() !== "zh") return reason;
  const known = REASONS.find(([pattern]) => pattern.test(reason));
  return known ? reason.replace(...known) : reason;
}

export const language = () => LANGUAGES[current];

/** Calls back now and whenever the language changes. */
export function onLanguage(callback) {
  listeners.push(callback);
  callback();
}

export function switchLanguage() {
  current = 1 - current;
  try {
    localStorage.setItem("vouch-language", language());
  } catch {
    // it is asked for again next time
  }
  listeners.forEach((callback) => callback());
}
