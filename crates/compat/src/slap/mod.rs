//! mysqlslap.

mod specs;
