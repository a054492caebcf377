package checkpointpb

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
)

// samples has one of each message that can leave its process.
var samples = []checkpoint.Message{
	checkpoint.RegisterCoordinator{}, checkpoint.RegisterCoordinatorResponse{}, checkpoint.RegisterWorker{}, checkpoint.RegisterWorkerResponse{},
	checkpoint.Reconcile{}, checkpoint.ListCheckpoints{}, checkpoint.CheckpointList{}, checkpoint.RestoreTopologyState{},
	checkpoint.RestoreTopologyStateResponse{}, checkpoint.GetInstanceState{}, checkpoint.GetInstanceStateResponse{},
	checkpoint.RestoreInstanceState{}, checkpoint.RestoreInstanceStateResponse{}, checkpoint.StartProcessing{},
	checkpoint.StartInstanceProcessing{}, checkpoint.StopInstance{}, checkpoint.InstanceEnded{}, checkpoint.StartCheckpoint{},
	checkpoint.InitiateCheckpoint{}, checkpoint.DownstreamMarker{}, checkpoint.StoreInstanceState{}, checkpoint.SaveInstanceState{},
	checkpoint.SaveInstanceStateResponse{}, checkpoint.InstanceStateStored{}, checkpoint.EpochCompleted{}, checkpoint.RecordCheckpoint{},
	checkpoint.CheckpointRecorded{}, checkpoint.CheckpointSaved{}, checkpoint.InstanceCheckpointSaved{}, checkpoint.CheckpointAborted{},
	checkpoint.Clean{}, checkpoint.CleanResponse{}, checkpoint.ResetTopologyState{}, checkpoint.UpdateActorState{}, checkpoint.AckActorState{},
	checkpoint.ForgetActors{}, checkpoint.WorkerReport{}, checkpoint.RetryLater{}, checkpoint.InputArrived{}, checkpoint.Demand{},
	checkpoint.CheckpointDemand{}, checkpoint.Mutate{}, checkpoint.Abort{}, checkpoint.Lost{}, checkpoint.Hold{},
}

// local are the messages that never leave their process.
var local = []string{"Collected", "Stored", "Committed", "Tick", "Persisted", "BlobWritten", "BlobsRead", "nothing"}

// TestEveryMessageHasAWireForm reads package checkpoint for its messages.
func TestEveryMessageHasAWireForm(t *testing.T) {
	known := slices.Clone(local)
	for _, m := range samples {
		known = append(known, reflect.TypeOf(m).Name())
	}
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range src.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "message" {
				continue
			}
			n++
			if name := fmt.Sprint(fn.Recv.List[0].Type); !slices.Contains(known, name) {
				t.Errorf("message %s has no wire form", name)
			}
		}
	}
	if n != len(known) {
		t.Errorf("%d messages, %d are known", n, len(known))
	}
}

// fill gives a value random contents, of which nothing may get lost on the way.
func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case checkpoint.StateRef:
		s := checkpoint.StateRef{Actor: checkpoint.ActorID(rng.Uint32()), Epoch: checkpoint.Epoch(rng.Uint64()), Full: rng.Intn(2) == 0}
		switch rng.Intn(3) {
		case 0:
			s.Inline = []byte{byte(rng.Intn(256)), 0}
		case 1:
			s.Location = "1-2-3"
		}
		v.Set(reflect.ValueOf(s))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rng.Int63n(1e9), rng.Int63n(1e9))))
		return
	case checkpoint.Kind:
		v.SetUint(uint64(rng.Intn(3)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rng.Intn(2) == 0)
	case reflect.Int64:
		v.SetInt(rng.Int63())
	case reflect.Uint8:
		v.SetUint(uint64(rng.Intn(4)))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(rng.Uint32()))
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", rng.Intn(100)))
	case reflect.Slice:
		n := rng.Intn(3)
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rng, v.Index(i))
		}
	case reflect.Pointer:
		if rng.Intn(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rng, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rng, v.Field(i))
		}
	}
}

// random fills a copy of a message. What cannot be anything is put right.
func random(rng *rand.Rand, sample checkpoint.Message) checkpoint.Message {
	v := reflect.New(reflect.TypeOf(sample)).Elem()
	fill(rng, v)
	switch m := v.Interface().(type) {
	case checkpoint.Clean:
		if m.All {
			m.OldestPreserved = 0
		}
		return m
	case checkpoint.StartCheckpoint:
		if rng.Intn(2) == 0 {
			m.Mutation = []byte("mutation")
		}
		return m
	case checkpoint.Mutate:
		m.Place = nil
		for _, a := range m.Add {
			m.Place = append(m.Place, checkpoint.Placement{Actor: a, Worker: "w", Source: rng.Intn(2) == 0})
		}
		return m
	}
	return v.Interface().(checkpoint.Message)
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, s := range samples {
		for range 50 {
			m := random(rng, s)
			b, err := Marshal(m)
			if err != nil {
				t.Fatalf("%T: %v", m, err)
			}
			got, err := Unmarshal(b)
			if err != nil {
				t.Fatalf("%T: %v", m, err)
			}
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("%T: sent\n%+v\ngot\n%+v", m, m, got)
			}
		}
	}
}

func TestListRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for range 50 {
		var list []checkpoint.CheckpointInfo
		fill(rng, reflect.ValueOf(&list).Elem())
		b, err := MarshalList(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := UnmarshalList(b)
		if err != nil || !reflect.DeepEqual(got, list) {
			t.Fatalf("%v: kept\n%+v\ngot\n%+v", err, list, got)
		}
	}
}

// TestWhatCannotTravel: references and messages within a process are refused, not lost.
func TestWhatCannotTravel(t *testing.T) {
	native := checkpoint.StateRef{Native: 1}
	for _, m := range []checkpoint.Message{
		checkpoint.SaveInstanceState{State: native}, checkpoint.InstanceStateStored{State: &native},
		checkpoint.WorkerReport{Actors: []checkpoint.ActorReport{{States: []checkpoint.StateRef{native}}}},
	} {
		if _, err := Marshal(m); !errors.Is(err, errNative) {
			t.Errorf("%T: %v", m, err)
		}
	}
	for _, m := range []checkpoint.Message{checkpoint.StartCheckpoint{Mutation: 1}, checkpoint.Mutate{Mutation: 1}} {
		if _, err := Marshal(m); !errors.Is(err, errMutation) {
			t.Errorf("%T: %v", m, err)
		}
	}
	if _, err := Marshal(checkpoint.Tick{}); err == nil {
		t.Error("a tick can travel")
	}
}

// TestGeneratedFromProto notices a message that was changed in Go and not in the .proto, or the other way round.
func TestGeneratedFromProto(t *testing.T) {
	src, err := os.ReadFile("checkpoint.proto")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		name := reflect.TypeOf(s).Name()
		if !strings.Contains(string(src), "message "+name+" {") {
			t.Errorf("checkpoint.proto has no message %s", name)
		}
	}
}

// FuzzUnmarshal: no bytes make it panic, and what is read can be written and read again.
func FuzzUnmarshal(f *testing.F) {
	rng := rand.New(rand.NewSource(3))
	for _, s := range samples {
		b, err := Marshal(random(rng, s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Unmarshal(b)
		if err != nil {
			return
		}
		again, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unmarshal(again)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%v: %+v became %+v", err, m, got)
		}
	})
}
