-- The API of sysbench 0.5: plain functions, one connection for each state.
print("body", type(thread_id), test, db_driver, type(db_query), DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED)

function prepare()
  print("prepare", db_connect(), db_driver, mysql_table_engine, myisam_max_rows, num_threads, size_of_table)
  print(db_query("DROP TABLE IF EXISTS old"))
  print(db_query("CREATE TABLE old (id INTEGER, word VARCHAR(10))"))
  db_bulk_insert_init("INSERT INTO old (id, word) VALUES")
  for i = 1, tonumber(size_of_table or 5) do
    db_bulk_insert_next("(" .. i .. ", 'w" .. i .. "')")
  end
  print(db_bulk_insert_done())
  print(db_disconnect())
  return 0
end

function thread_init(id)
  print("thread_init", id, thread_id, db_driver)
  statement = db_prepare("UPDATE old SET word = ? WHERE id = ?")
  values = { "new", 1 }
  print(type(statement), db_bind_param(statement, values))
end

function event(id)
  values[2] = 1 + (values[2] or 0) % 3
  local rows = db_execute(statement)
  db_store_results(rows)
  db_free_results(rows)
  print("event", type(rows), db_query("SELECT COUNT(*) FROM old"))
end

function thread_done(id)
  db_close(statement)
  print("thread_done", id)
end

function cleanup()
  print("cleanup", db_query("DROP TABLE old"), db_driver)
end

function help()
  print("help", thread_id)
end
