-- Statements that are prepared, with values of every type that can be bound.
local t = sysbench.sql.type

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS bound")
  con:query("CREATE TABLE bound (id INTEGER, big BIGINT, word CHAR(8), words VARCHAR(30))")
end

local function show()
  local rows = con:query("SELECT id, big, word, words FROM bound ORDER BY id, big")
  for _ = 1, rows.nrows do
    print(unpack(rows:fetch_row(), 1, rows.nfields))
  end
end

function event()
  local insert = con:prepare("INSERT INTO bound (id, big, word, words) VALUES (?, ?, ?, ?)")
  print(type(insert), insert)
  local id, big = insert:bind_create(t.INT), insert:bind_create(t.BIGINT)
  local word, words = insert:bind_create(t.CHAR, 8), insert:bind_create(t.VARCHAR, 20)
  print(type(id), id, words, id.type == t.BIGINT, word.max_len)
  print("nothing is bound", insert:bind_param())
  print("bound", insert:bind_param(id, big, word, words))
  id:set(1); big:set(1234567890123); word:set("short"); words:set("a longer text")
  print(insert:execute())
  id:set(2); big:set(-5); word:set("second"); words:set("no text")
  insert:execute()
  id:set(3); word:set(""); words:set("it's text")
  print(pcall(insert.execute, insert))
  id:set(4); word:set_rand_str("plain"); words:set_rand_str("no places")
  insert:execute()
  show()
  local update = con:prepare("UPDATE bound SET big = big + ? WHERE id = ?")
  local by, which = update:bind_create(t.INT), update:bind_create(t.INT)
  update:bind_param(by, which)
  for n = 1, 3 do
    by:set(n); which:set(1)
    update:execute()
  end
  which:set(77)
  update:execute()
  show()
  update:close()
  local none = con:prepare("DELETE FROM bound WHERE id > 2")
  print(none:execute())
  none:close()
  insert:close()
  show()
end
