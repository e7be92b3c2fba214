-- Texts that are longer than what they are bound to.
local t = sysbench.sql.type

function event()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS cut")
  con:query("CREATE TABLE cut (word CHAR(8), words VARCHAR(30))")
  local insert = con:prepare("INSERT INTO cut (word, words) VALUES (?, ?)")
  local word, words = insert:bind_create(t.CHAR, 8), insert:bind_create(t.VARCHAR, 20)
  insert:bind_param(word, words)
  word:set("too long by far"); words:set(("w"):rep(40))
  insert:execute()
  word:set_rand_str("##@@####"); words:set("fits")
  insert:execute()
  local rows = con:query("SELECT word, words FROM cut ORDER BY words")
  for _ = 1, rows.nrows do
    local row = rows:fetch_row()
    print(#row[1], row[1]:match("^%d%d%l%l%d%d%d%d$") and "digits" or row[1], row[2])
  end
  insert:close()
end
