use super::*;

const ENGLISH: &str = "\
# Flush, 2 ways

[中文](b.zh-CN.md)

Level 2 is ×1.9 [1.7, 2.1] with `sync_binlog`, for 28 to 39 % of 2 clients: [crash](crash.md), [plan](../plan.md#a).

## Run

```
truetps sweep     # ten minutes
truetps run a#b
```

| clients | tps |
|---|---|
| 2 | 1,350 and −4 % |

```text
# 50 tps
```
";
const CHINESE: &str = "\
# 刷盘，2 种方式

[English](b.md)

28% 到 39% 的情况下，2 个客户端，`sync_binlog` 取值 2 是 1.9 倍 [1.7, 2.1]，3 轮：[崩溃](crash.zh-CN.md)、[计划](../plan.md#a)。

## 运行

```
truetps sweep     # 十分钟
truetps run a#b
```

| 客户端 | tps |
|---|---|
| 2 | −4% 和 1,350 |

```text
# 50 tps
```
";

/// What is found after a change of the Chinese page.
fn after(old: &str, new: &str) -> Vec<String> {
    assert!(old.is_empty() || CHINESE.contains(old), "{old}");
    let page = MarkdownPage::parse;
    let pair = PagePair { english: "docs/guides/b.md", chinese: "docs/guides/b.zh-CN.md" };
    pair.differences(&page(ENGLISH), &page(&CHINESE.replacen(old, new, 1)))
}

#[test]
fn pages_that_say_the_same_have_no_difference() {
    assert_eq!(after("", ""), <[String; 0]>::default());
}

#[test]
fn each_kind_of_difference_is_found() {
    for (old, new, expect) in [
        (
            "[English](b.md)",
            "英文",
            "docs/guides/b.zh-CN.md: its first link is not to the other language, b.md",
        ),
        (
            "## 运行",
            "### 运行",
            "docs/guides/b.zh-CN.md:7: a heading of level 3, where line 7 has 2",
        ),
        ("## 运行", "运行", "docs/guides/b.zh-CN.md: 1 headings, 2 in docs/guides/b.md"),
        (
            "sweep  ",
            "sweep -q  ",
            ":10: code differs from line 10: `truetps sweep     # ten minutes`",
        ),
        ("  # 十分钟", "", ":10: code differs from line 10: `truetps sweep     # ten minutes`"),
        ("a#b", "a#c", ":11: code differs from line 11: `truetps run a#b`"),
        ("truetps run a#b\n", "", ":11: code differs from line 11: `truetps run a#b`"),
        ("a#b\n", "a#b\ntruetps\n", ":12: code differs from line 12: `the end of the block`"),
        ("# 50 tps", "# 50 条", ":19: code differs from line 19: `# 50 tps`"),
        ("```text", "```sh", ":18: code of `sh`, where it is of `text`"),
        ("```text\n# 50 tps\n```", "", ":7: 1 code blocks in this section, 2 there"),
        ("1,350", "1,530", ":16: numbers of the row differ from line 16"),
        ("−4%", "4%", ":16: numbers of the row differ from line 16"),
        (
            "| 2 | −4% 和 1,350 |",
            "| 2 | −4% 和 1,350 |\n| 3 | |",
            ":14: 3 rows of the table, 2 at line 14",
        ),
        ("|---|---|\n", "", ":7: 0 tables in this section, 1 there"),
        ("1.9 倍", "1.8 倍", ":1: the number 1.9 is missing in this section"),
        ("3 轮", "3.5 轮", ":1: the number 3.5 is not in the English section"),
        ("sync_binlog", "log_bin", ":1: the code span `sync_binlog` is missing in this section"),
        ("3 轮", "`3` 轮", ":1: the code span `3` is not in the English section"),
        ("../plan.md#a", "../plan.md", ":1: the link `../plan.md#a` is missing in this section"),
        ("3 轮", "[3](three.md) 轮", ":1: the link `three.md` is not in the English section"),
        (
            "crash.zh-CN.md",
            "crash.md",
            ":5: link to crash.md: its Chinese version is crash.zh-CN.md",
        ),
    ] {
        let found = after(old, new);
        assert!(found.iter().any(|words| words.contains(expect)), "{old} -> {new}: {found:#?}");
    }
}

#[test]
fn a_page_without_its_pair_is_found() {
    let page = |text: &str| MarkdownPage::parse(text);
    let mut pages = BTreeMap::new();
    for english in TRANSLATED {
        let file = english.rsplit('/').next().unwrap();
        pages.insert(english.to_owned(), page(&format!("# A\n\n[中文]({})", chinese_name(file))));
        pages.insert(chinese_name(english), page(&format!("# A\n\n[English]({file})")));
    }
    assert_eq!(problems(&pages), <[String; 0]>::default());
    pages.insert("docs/method.zh-CN.md".to_owned(), page("# A"));
    pages.remove("README.zh-CN.md");
    pages.remove("docs/guides/crash.md");
    let expect = [
        "README.md: its Chinese version README.zh-CN.md is missing",
        "docs/guides/crash.md: missing, and in `TRANSLATED` of xtask/src/tidy/languages.rs",
        "docs/method.zh-CN.md: docs/method.md is not in `TRANSLATED` of xtask/src/tidy/languages.rs",
    ];
    assert_eq!(problems(&pages), expect);
}

#[test]
fn terms_of_the_chinese_glossary_are_terms_of_the_english_one() {
    let english =
        MarkdownPage::parse("| term | meaning |\n|---|---|\n| pair, twin | a |\n| knee | b |\n");
    let chinese =
        MarkdownPage::parse("| 英文 | 中文 |\n|---|---|\n| twin | 对照 |\n| bend | 拐点 |\n");
    assert_eq!(
        unknown_terms(&english, &chinese),
        ["docs/glossary.zh-CN.md:4: docs/glossary.md has no term `bend`"]
    );
}
