package file

import "syscall"

// unreported tells whether the file lies on a file system on which other machines, or a host outside,
// write without this kernel's notice.
func unreported(path string) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return true
	}
	switch uint32(st.Type) {
	case 0x6969, // NFS
		0xff534d42, 0xfe534d42, 0x517b, // SMB
		0x65735546, // FUSE
		0x01021997, // 9P
		0x00c36400, // Ceph
		0x5346414f, // AFS
		0x0bd00bd0: // Lustre
		return true
	}
	return false
}
