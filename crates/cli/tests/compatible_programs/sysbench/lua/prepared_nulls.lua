-- NULL among the values of a prepared statement.
local t = sysbench.sql.type

function event()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS nulls")
  con:query("CREATE TABLE nulls (id INTEGER, word VARCHAR(8))")
  local insert = con:prepare("INSERT INTO nulls (id, word) VALUES (?, ?)")
  local id, word = insert:bind_create(t.INT), insert:bind_create(t.VARCHAR, 8)
  insert:bind_param(id, word)
  for _, pair in ipairs({ { 1, "a" }, { 2, nil }, { 3, "c" } }) do
    id:set(pair[1])
    word:set(pair[2])
    insert:execute()
  end
  local rows = con:query("SELECT id, word FROM nulls ORDER BY id")
  for _ = 1, rows.nrows do
    print(unpack(rows:fetch_row(), 1, 2))
  end
end
