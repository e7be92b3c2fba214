-- sysbench's side of `bench engine --protocol prepared`: its `oltp_insert` sends text whatever its options say, so this
-- sends the same row by a prepared statement. Only documented calls of sysbench's SQL interface are used.

sysbench.cmdline.options = { table_size = { "Largest value of k", 200000 } }

local digits = string.rep("#", 11)
local c_format = digits .. string.rep("-" .. digits, 9)
local pad_format = digits .. string.rep("-" .. digits, 4)

local connection, statement, k, c, pad

function thread_init()
   connection = sysbench.sql.driver():connect()
   statement = connection:prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ?, ?, ?)")
   k = statement:bind_create(sysbench.sql.type.INT)
   c = statement:bind_create(sysbench.sql.type.CHAR, 120)
   pad = statement:bind_create(sysbench.sql.type.CHAR, 60)
   statement:bind_param(k, c, pad)
end

function event()
   k:set(sysbench.rand.default(1, sysbench.opt.table_size))
   c:set_rand_str(c_format)
   pad:set_rand_str(pad_format)
   statement:execute()
end

function thread_done()
   statement:close()
   connection:disconnect()
end
