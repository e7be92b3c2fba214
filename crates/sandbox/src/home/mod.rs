//! The folder of private servers: its layout, what proves that it is ours, and its owners.

pub(crate) mod home_folder;
pub(crate) mod owners;
pub(crate) mod proof;
pub(crate) mod sandbox_disk;
pub(crate) mod server_paths;
pub(crate) mod sizes;
