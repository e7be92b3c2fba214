//! What a disk is asked for.

/// A range of bytes on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskRange {
    pub offset: u64,
    pub length: u64,
}

/// A request of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskRequest {
    Read(DiskRange),
    Write(DiskRange),
    /// Everything that was acknowledged before becomes durable.
    Flush,
}

pub(crate) fn us(us: u32) -> u64 {
    u64::from(us) * 1_000
}
