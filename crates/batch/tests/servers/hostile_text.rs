//! Texts that try to be more than text.

use truetps_batch::CommitAnswer;
use truetps_record::SqlDialect;

use crate::SOON;
use crate::clients::{NEW, send};
use crate::tables::{TestGateway, TestServer};

const TEXTS: [&str; 16] = [
    "",
    "'",
    "''",
    "\\",
    "\\'",
    "\\\\'; DROP TABLE notes; -- ",
    "'); DROP TABLE notes; -- ",
    "\"",
    "`",
    "\u{bf}'",
    "\u{8fef}\\",
    "\r\n\t\u{1a}",
    "\u{7f}\u{80}\u{9f}",
    "😀 𝄞 é ü",
    "%_?$1:name",
    "NULL",
];

#[test]
fn every_text_is_stored_as_it_is() {
    for server in TestServer::of_each_kind("hostile texts") {
        server.run("CREATE TABLE notes (id VARCHAR(60) PRIMARY KEY, text TEXT)");
        if server.dialect() == SqlDialect::Mysql {
            server.run("ALTER TABLE notes CONVERT TO CHARACTER SET utf8mb4");
            server.run("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
        }
        let settings =
            truetps_batch::CommitSettings { table: "notes".to_owned(), ..server.settings() };
        let gateway = TestGateway::start(&settings);
        let mut texts: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
        // All characters of one and two bytes, except those that cannot be text of PostgreSQL.
        texts.extend(
            (1..0x800)
                .collect::<Vec<u32>>()
                .chunks(50)
                .map(|codes| codes.iter().filter_map(|code| char::from_u32(*code)).collect()),
        );
        for (n, text) in texts.iter().enumerate() {
            let json = serde_json::json!({ "id": n.to_string(), "text": text }).to_string();
            assert_eq!(send(&gateway.queue, &json, SOON), Some(NEW), "{text:?}");
            let stored = server
                .client()
                .query_value(&format!("SELECT text FROM notes WHERE id = '{n}'"))
                .unwrap();
            assert_eq!(stored.as_ref(), Some(text));
        }
        let json = serde_json::json!({ "id": TEXTS[5], "text": "as a key" }).to_string();
        assert_eq!(send(&gateway.queue, &json, SOON), Some(NEW));
        let again = send(&gateway.queue, &json, SOON);
        assert_eq!(again, Some(CommitAnswer::Stored { is_duplicate: Some(true) }));
    }
}
