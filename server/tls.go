package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The files of the certificate that the server makes for itself, in the data directory.
const (
	ownCertFile = "server.crt"
	ownKeyFile  = "server.key"
)

// ownCertLife is how long such a certificate is valid.
const ownCertLife = 10 * 365 * 24 * time.Hour

// tlsConfig gives what connections are encrypted with; nil if they are not.
func tlsConfig(cfg Config) (*tls.Config, error) {
	cert, key := cfg.TLSCert, cfg.TLSKey
	switch {
	case (cert == "") != (key == ""):
		return nil, errors.New("a certificate needs its key and a key its certificate: give --tls-cert and --tls-key together")
	case cert != "":
	case cfg.TLS == "auto":
		cert, key = filepath.Join(cfg.DataDir, ownCertFile), filepath.Join(cfg.DataDir, ownKeyFile)
		if err := makeCertificate(cert, key, time.Now()); err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
	case cfg.TLS == "" || cfg.TLS == "off":
		return nil, nil
	default:
		return nil, fmt.Errorf("tls is %q, but can only be off or auto", cfg.TLS)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// makeCertificate writes a certificate that signs itself, for this machine's name and localhost, and its key,
// unless both are there and still valid.
func makeCertificate(certFile, keyFile string, now time.Time) error {
	if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil && now.Before(pair.Leaf.NotAfter) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	names := []string{"localhost"}
	if h, err := os.Hostname(); err == nil && h != "localhost" {
		names = append(names, h)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[len(names)-1]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(ownCertLife),
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(certFile), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}
