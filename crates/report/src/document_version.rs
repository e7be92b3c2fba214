/// Version of the JSON documents of `report`, `compare` and `stalls`: it grows when an old reader would misread one.
pub(crate) const DOCUMENT_VERSION: u32 = 2;
